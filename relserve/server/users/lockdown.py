"""What no statement of a server's user may do; docs/server_safety.md says it for users.

Two locks, for neither is enough. DuckDB's own, set when the database is opened, keeps every statement, view
and macro from files, extensions, Python's variables and settings; but it lets through the database's own
file (which COPY would overwrite) and its temporary ones (which hold other users' rows), settings of all
clients, and statements that concern all. So each text is looked at before it runs, too (`statements`).
"""

from __future__ import annotations

from typing import Any

import duckdb

from relserve.server.users.refused import SETTINGS
from relserve.server.users.statements import Allowed, Check
from relserve.server.users.users import User

__all__ = ["MEMORY", "TEMPORARY", "Allowed", "check_allowed", "locked_config"]

MEMORY, TEMPORARY = "50%", "10GB"  # of the machine, and on disk beside the database's file


def locked_config(allow_files: bool, read_only: bool) -> dict[str, Any]:
    """The configuration under which a server opens its database, for `duckdb.connect(.., config=..)`.

    Args:
        allow_files: leave files, extensions and settings open, to everybody.
        read_only: open the file so that nothing can change it.
    """
    config: dict[str, Any] = {
        "python_enable_replacements": False,
        "allow_persistent_secrets": False,
        "memory_limit": MEMORY,
        "max_temp_directory_size": TEMPORARY,
    }
    if read_only:
        config["access_mode"] = "READ_ONLY"
    if allow_files:
        return config
    return config | {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allowed_configs": sorted(SETTINGS),
        "lock_configuration": True,
    }


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
