"""Methods of DuckDB's connection by what the proxy has to do about them."""

from __future__ import annotations

# give the rows of the last result
FETCHES = frozenset(
    "fetchone fetchmany fetchall fetchdf fetch_df df fetch_df_chunk fetchnumpy pl torch tf "
    "to_arrow_table to_arrow_reader complete".split()
)
# give a relation
RELATIONS = frozenset(
    "table view values from_df from_arrow from_parquet from_csv_auto read_csv read_json read_parquet "
    "table_function".split()
)
# give their connection back
CHAINED = frozenset(
    "begin commit rollback checkpoint append unregister create_function remove_function".split()
)
