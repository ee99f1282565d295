"""DuckDB's own functions that generated SQL may not call, with the reason of each.

Only functions that a bare DuckDB has are looked at here: any other one is refused because it is unknown.
Volatile ones are refused too, except those of VOLATILE; so are all of schema pg_catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TABLE_FUNCTIONS = frozenset(["range", "generate_series", "unnest"])
BOUND_APART = frozenset(["unnest"])  # of values, too, but not among DuckDB's functions of values
# Nothing that they tell is about this machine, database or session.
VOLATILE = frozenset("random uuid uuidv4 uuidv7 gen_random_uuid".split())
WITHIN_QUERY = frozenset(
    "now today current_date current_localtime current_localtimestamp get_current_time "
    "get_current_timestamp transaction_timestamp".split()
)
# Their second argument is an aggregate's name, as a text.
CALLS_BY_NAME = frozenset("aggregate list_aggr list_aggregate array_aggr array_aggregate".split())

_REASONS = {
    "it makes a type from a text": "make_type get_type replace_type cast_to_type",
    "nothing can interrupt what it does with each element of a list; use unnest() and a subquery": (
        "apply list_apply array_apply list_transform array_transform filter list_filter array_filter "
        "reduce list_reduce array_reduce invoke"
    ),
    "it reads a text as SQL": "json_serialize_sql json_serialize_plan json_deserialize_sql",
    "it takes the bytes of something inside DuckDB, which a made-up value can break": (
        "combine combine_aggr finalize to_aggregate_state variant_bytes_to_variant variant_comparator "
        "variant_normalize variant_to_parquet_variant create_sort_key bitstring_byte_comparable "
        "timetz_byte_comparable constant_or_null remap_struct index_key decimal_division"
    ),
    "it tells about the session or the database": (
        "current_setting getvariable txid_current in_search_path current_schemas current_database "
        "current_schema current_catalog current_query current_user current_role session_user user getenv "
        "current_connection_id current_query_id current_transaction_id version get_block_size pg_typeof"
    ),
    "it changes something that lasts": "nextval setval currval setseed write_log",
    "it only waits": "sleep_ms pg_sleep",
    "it stops the statement with a text of its own": "error assert_true",
    "it reads files": (
        "read_csv read_csv_auto read_single_csv_file sniff_csv read_json read_json_auto read_json_objects "
        "read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_single_json_file "
        "read_parquet parquet_scan read_single_parquet_file parquet_metadata parquet_file_metadata "
        "parquet_full_metadata parquet_kv_metadata parquet_schema parquet_bloom_probe read_text read_blob "
        "read_duckdb glob"
    ),
    "it runs a text as SQL": "query query_table json_execute_serialized_sql",
}
REASONS: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _REASONS.items() for name in names.split()}
)


def is_inner(name: str) -> bool:
    """Whether only DuckDB itself calls a function, as its plans do."""
    return name.startswith(("__", "collate_", "icu_"))
