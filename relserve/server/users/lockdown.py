"""What no statement of a server's user may do; docs/server_safety.md says it for users.

Two locks, for neither is enough. DuckDB's own, set when the database is opened, keeps every statement, view
and macro from files, extensions, Python's variables and settings; but it lets through the database's own
file (which COPY would overwrite) and its temporary ones (which hold other users' rows), settings of all
clients, and statements that concern all. So each text is looked at before it runs, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb
from duckdb import StatementType as Type

from relserve.errors import ForbiddenError
from relserve.server.users.users import User
from relserve.server.users.words import Word, words

# Of one client alone, and of no harm to the server, which reads every value as text or in UTC.
SETTINGS = frozenset(
    "search_path schema timezone calendar integer_division ieee_floating_point_ops explain_output "
    "order_by_non_integer_literal pivot_limit".split()
)
PRAGMAS = frozenset(
    "version database_list database_size show_tables show_tables_expanded show_databases show table_info "
    "storage_info collations functions platform user_agent".split()
)
# Functions that reach what is nobody's or everybody's: files (DuckDB's lock leaves the database's own), other
# users' temporary rows, logs, secrets, memory by its address, and texts that are run without being looked at.
FUNCTIONS = frozenset(
    "read_text read_blob read_csv read_csv_auto read_single_csv_file sniff_csv read_json read_json_auto "
    "read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects "
    "read_single_json_file read_parquet parquet_scan read_single_parquet_file parquet_metadata "
    "parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema parquet_bloom_probe "
    "read_duckdb glob duckdb_temporary_files duckdb_external_file_cache "
    "query json_execute_serialized_sql "
    "arrow_scan arrow_scan_dumb python_arrow_scan pandas_scan python_map_function seq_scan "
    "enable_logging disable_logging truncate_duckdb_logs duckdb_logs duckdb_logs_parsed duckdb_log_contexts "
    "write_log duckdb_secrets which_secret add_parquet_key "
    "create_external_resource destroy_external_resource register_external_resource "
    "deregister_external_resource register_external_resource_type duckdb_external_resources "
    "checkpoint force_checkpoint import_database copy_database enable_profiling enable_profile "
    "disable_profiling disable_profile enable_verification disable_verification verify_parallelism "
    "disable_verify_parallelism enable_checkpoint_on_shutdown disable_checkpoint_on_shutdown "
    "enable_optimizer disable_optimizer enable_object_cache disable_object_cache enable_progress_bar "
    "disable_progress_bar enable_print_progress_bar disable_print_progress_bar test_vector_types".split()
)
# Views over some of those; a table of such a name is refused, too.
VIEWS = frozenset(["duckdb_logs", "duckdb_secrets", "duckdb_external_file_cache", "duckdb_temporary_files"])
_OWN = re.compile(r"__\w+_\d+|_pg_signal")  # UDFs of the server, one set of them for each client
_HARMLESS = (
    Type.SELECT, Type.INSERT, Type.UPDATE, Type.DELETE, Type.MERGE_INTO, Type.CREATE, Type.CREATE_FUNC,
    Type.DROP, Type.ALTER, Type.TRANSACTION, Type.EXPLAIN, Type.PREPARE, Type.EXECUTE, Type.MULTI,
    Type.VARIABLE_SET,
)  # fmt: skip
_ADMINS = (Type.VACUUM, Type.ATTACH, Type.DETACH)
_WITH_FILES = (Type.COPY, Type.EXPORT, Type.LOAD, Type.EXTENSION)
_SUSPECT = re.compile(
    rf"(?i)\b(copy|secret|trigger|{'|'.join(sorted(FUNCTIONS | VIEWS))}|_pg_signal)\b|__\w+_\d+\b"
)


def locked_config(allow_files: bool, read_only: bool) -> dict[str, Any]:
    """The configuration under which a server opens its database, for `duckdb.connect(.., config=..)`.

    Args:
        allow_files: leave files, extensions and settings open, to everybody.
        read_only: open the file so that nothing can change it.
    """
    config: dict[str, Any] = {
        "python_enable_replacements": False,
        "allow_persistent_secrets": False,
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
) -> list[duckdb.Statement]:
    """Refuse a text that a user may not run, all of it, before anything of it runs.

    Args:
        text: as it goes to DuckDB, before relserve's own functions stand in it.

    Returns:
        The text's statements.

    Raises:
        ForbiddenError: says what is refused, and what can be done.
        duckdb.Error: DuckDB cannot read the text.
    """
    statements = con.extract_statements(text)
    for statement in statements:
        _check_kind(_kind(statement), statement.query, user, allow_files)
    if _SUSPECT.search(text):
        _check_words(words(text), allow_files)
    return statements


_FILES = (
    "this server lets no statement touch files: send rows by COPY .. FROM STDIN, fetch them by COPY .. TO "
    "STDOUT, or have the server started with --allow-files"
)
_EXTENSIONS = "this server loads no extensions; start it with --allow-files to allow them"


def _kind(statement: duckdb.Statement) -> Type:
    """What a statement is; an extension's where Python has no name for it, as for UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return Type.EXTENSION


def _check_kind(kind: Type, text: str, user: User, allow_files: bool) -> None:
    if kind in _HARMLESS or (kind in _WITH_FILES and allow_files):
        return
    here = words(text)
    if kind == Type.SET:
        _check_setting(here, allow_files)
    elif kind == Type.PRAGMA:
        _check_pragma(here, allow_files)
    elif kind == Type.CALL:
        if here[0].name != "call":  # CHECKPOINT and FORCE CHECKPOINT
            _for_admins("CHECKPOINT", user)
    elif kind in _ADMINS:
        if here[0].name != "analyze":
            _for_admins(here[0].name.upper(), user)
    else:
        raise ForbiddenError(_FILES if kind in (Type.COPY, Type.EXPORT) else _EXTENSIONS)


def _check_setting(here: Sequence[Word], allow_files: bool) -> None:
    """Of SET, RESET, USE, and PRAGMA with a value."""
    first, *rest = here
    names = [word.name for word in rest if word.name not in ("session", "local")]
    if first.name == "use" or names[:1] == ["variable"] or allow_files:
        return
    if names[:1] == ["global"] or names[0] not in SETTINGS:
        what = " ".join(names[: 2 if names[0] == "global" else 1])
        raise ForbiddenError(
            f"{first.name.upper()} {what}: a setting of the whole server, or one that this server keeps to "
            f"itself; clients may set: {', '.join(sorted(SETTINGS))}"
        )


def _check_pragma(here: Sequence[Word], allow_files: bool) -> None:
    first, *rest = here
    if first.name in ("import", "copy"):
        if not allow_files:
            raise ForbiddenError(_FILES)
    elif rest and rest[0].name not in PRAGMAS and not allow_files:
        raise ForbiddenError(
            f"PRAGMA {rest[0].name} changes the server; clients may run: {', '.join(sorted(PRAGMAS))}"
        )


def _for_admins(what: str, user: User) -> None:
    if not user.is_admin:
        raise ForbiddenError(f"{what} concerns all users of this server: only its admins may run it")


def _check_words(found: Sequence[Word], allow_files: bool) -> None:
    """Look for what a statement may hold anywhere: in a WITH, an EXPLAIN, a view or a macro."""
    for number, word in enumerate(found):
        if not word.is_name:
            continue
        after = found[number + 1].name if number + 1 < len(found) else ""
        if _OWN.fullmatch(word.name):
            raise ForbiddenError(f"{word.name} is the server's own; call the function by its name, as llm()")
        if allow_files:
            continue
        if word.name in VIEWS or (word.name in FUNCTIONS and after == "("):
            raise ForbiddenError(f"{word.name}: this server lets no statement call it; {_WHY}")
        before = found[number - 1].name if number else ""
        if word.name == "copy" and _begins_statement(before) and after not in (".", ",", ")", ""):
            raise ForbiddenError(_FILES)
        if word.name == "secret" and before in (
            "create",
            "persistent",
            "temporary",
            "temp",
            "replace",
            "drop",
        ):
            raise ForbiddenError("this server keeps no secrets, for no statement of it reaches the network")


_WHY = (
    "it reaches files, logs or texts that concern all users (a table of that name can be read with a quoted "
    "name and without a list of columns)"
)


def _begins_statement(before: str) -> bool:
    """Whether a statement can begin after this word, as in WITH x AS (COPY .. or EXPLAIN ANALYZE COPY .."""
    return before in ("", "(", ")", ";", "as", "explain", "analyze")
