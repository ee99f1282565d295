"""What statements of a server's clients may name, and what they may not."""

from __future__ import annotations

import re

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
# users' temporary rows, logs, secrets, memory by its address, and texts that run, or are parsed, unseen.
FUNCTIONS = frozenset(
    "read_text read_blob read_csv read_csv_auto read_single_csv_file sniff_csv read_json read_json_auto "
    "read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects "
    "read_single_json_file read_parquet parquet_scan read_single_parquet_file parquet_metadata "
    "parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema parquet_bloom_probe "
    "read_duckdb glob duckdb_temporary_files duckdb_external_file_cache "
    "query json_execute_serialized_sql json_serialize_sql json_serialize_plan "
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
CATALOG = "_pg"  # PostgreSQL's catalog, which all clients read
OWN = "__llm"  # how UDFs begin, and the macro with the key that tells them who calls
# what `_pg` calls with the connection that asks
SEALED = frozenset(["_pg_signal", "_pg_activity", "_pg_prepared"])
# What tells of one session alone: what it runs, has prepared and has set, and its own macros. Where others
# use what calls one, it tells of theirs.
SESSION = frozenset(
    "current_query getvariable current_setting current_connection_id duckdb_variables duckdb_settings "
    "duckdb_prepared_statements duckdb_functions activity_of pg_cancel_backend pg_terminate_backend "
    "llm_queries llm_errors llm_usage llm_batches llm_workflows llm_steps".split()
)
SESSION_RELATIONS = frozenset(["pg_stat_activity", "pg_prepared_statements", "pg_cursors"])

_IN_PARTS = re.compile(r"\\[xuU0-7]|'(?=[^\S\r\n]*+[\r\n])\s++'")
_SUSPECT = frozenset(["copy", "secret", "trigger", CATALOG, OWN, *FUNCTIONS, *VIEWS, *SEALED])


def is_suspect(word: str) -> bool:
    """Whether a word of a text, in lower case, is reason to look at those around it."""
    return word in _SUSPECT or word.startswith(OWN)


def has_suspects(text: str) -> bool:
    """Whether a text may hold such a word, however it is read: in a longer word, a string or a comment, too.

    A table's name may be a string, which may be written in parts or with escapes.
    """
    lower = text.lower()
    return any(each in lower for each in _SUSPECT) or _IN_PARTS.search(text) is not None
