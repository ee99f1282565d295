"""What no statement of a server's user may do; docs/server_safety.md says it for users.

Two locks, for neither is enough. DuckDB's own, set when the database is opened, keeps every statement, view
and macro from files, extensions, Python's variables and settings; but it lets through the database's own
file (which COPY would overwrite) and its temporary ones (which hold other users' rows), settings of all
clients, and statements that concern all. So each text is looked at before it runs, too (`statements`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from relserve.server.users.refused import SETTINGS
from relserve.server.users.statements import Allowed, Check
from relserve.server.users.users import User
from relserve.text2sql.guard.deadline import SETTING

__all__ = ["MEMORY", "TEMPORARY", "Allowed", "check_allowed", "open_locked"]

MEMORY, TEMPORARY = "50%", "10GB"  # of the machine, and on disk beside the database's file
_NO_EXTENSIONS = {
    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
    "allow_community_extensions": False,
}  # fmt: skip


def open_locked(
    path: Path | str,
    allow_files: bool = False,
    read_only: bool = False,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    **more: Any,
) -> duckdb.DuckDBPyConnection:
    """Open a database as a server does.

    Args:
        allow_files: leave files, extensions and settings open, to everybody.
        read_only: open the file so that nothing can change it.
        prepare: is done before files are closed, and before anybody's text.
        more: of DuckDB's configuration.

    Raises:
        duckdb.Error: it is not there, or is in use.
    """
    config: dict[str, Any] = {
        "python_enable_replacements": False,
        "allow_persistent_secrets": False,
        "memory_limit": MEMORY,
        "max_temp_directory_size": TEMPORARY,
        **more,
    }
    if read_only:
        config["access_mode"] = "READ_ONLY"
    if not allow_files:
        config |= _NO_EXTENSIONS
    con = duckdb.connect(path, config=config)
    try:
        if prepare is not None:
            prepare(con)
        if not allow_files:
            con.execute("SET GLOBAL enable_external_access = false")
            con.execute(f"SET GLOBAL allowed_configs = {sorted({*SETTINGS, SETTING})}")
            con.execute("SET GLOBAL lock_configuration = true")
    except BaseException:
        con.close()  # nobody gets it half locked
        raise
    return con


def check_allowed(
    con: duckdb.DuckDBPyConnection, text: str, user: User, allow_files: bool = False
) -> list[Allowed]:
    """Refuse a text that a user may not run, all of it, before anything of it runs.

    Args:
        text: as it goes to DuckDB, before relserve's own functions stand in it.

    Returns:
        The text's statements.

    Raises:
        ForbiddenError: says what is refused, and what can be done.
        duckdb.Error: DuckDB cannot read the text.
    """
    return Check(con, user, allow_files).statements(text)
