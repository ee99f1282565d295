"""Methods of DuckDB's connection by what the proxy has to do about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# give the rows of the last result
FETCHES = frozenset(
    "fetchone fetchmany fetchall fetchdf fetch_df df fetch_df_chunk fetchnumpy pl torch tf "
    "to_arrow_table to_arrow_reader complete fetch_arrow_table fetch_record_batch".split()
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


def _batches(raw: Any) -> Callable[..., Any]:
    return lambda rows_per_batch=1_000_000: raw.to_arrow_reader(batch_size=rows_per_batch)


# what DuckDB's connection had before 2.0, for libraries that still call it (ibis 12)
EARLIER: Mapping[str, Callable[[Any], Any]] = {
    "fetch_arrow_table": lambda raw: raw.to_arrow_table,
    "fetch_record_batch": _batches,
}
