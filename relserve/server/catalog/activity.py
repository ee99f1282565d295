"""pg_stat_activity and what stops its clients: who is connected, and for those who may see it, what they run.

Who asks is told by the number of the DuckDB connection, which no text can write: `_pg` alone calls the
functions (`users.refused.SEALED`), with the number of the connection that runs it.
"""

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

Signal = Callable[[int, int, str], bool]  # takes connection, pid and "cancel" or "terminate"
Prepared = Callable[[int], list[dict[str, Any]]]  # takes connection; gives the fields of `_PREPARED`

FUNCTION, SIGNAL, PREPARED = "_pg_activity", "_pg_signal", "_pg_prepared"
_PREPARED = "STRUCT(name VARCHAR, statement VARCHAR, prepare_time TIMESTAMPTZ, parameter_types VARCHAR[])[]"
_FIELDS = {
    "pid": "INTEGER", "usename": "VARCHAR", "application_name": "VARCHAR", "client_addr": "VARCHAR",
    "backend_start": "TIMESTAMPTZ", "state": "VARCHAR", "query_start": "TIMESTAMPTZ", "query": "VARCHAR",
}  # fmt: skip
_HIDDEN = "<insufficient privilege>"


def register_activity(con: duckdb.DuckDBPyConnection, activity: Callable[[], pa.Table]) -> None:
    """Give SQL a function that lists the clients, as the client of a connection may see them."""

    def listed(connection: int) -> list[dict[str, Any]]:
        rows = activity().to_pylist()
        reader = next((row for row in rows if row["connection"] == connection), None)
        return [] if reader is None else [_as_seen(row, reader) for row in rows]

    columns = ", ".join(f"{name} {kind}" for name, kind in _FIELDS.items())
    con.create_function(
        FUNCTION,
        listed,
        ["UBIGINT"],
        f"STRUCT({columns})[]",
        side_effects=True,  # type: ignore[list-item,arg-type]
    )


def register_signal(con: duckdb.DuckDBPyConnection, signal: Signal) -> None:
    """Give SQL a function by which the client of a connection stops one of a pid."""
    con.create_function(SIGNAL, signal, ["UBIGINT", "BIGINT", "VARCHAR"], "BOOLEAN", side_effects=True)  # type: ignore[list-item,arg-type]


def register_prepared(con: duckdb.DuckDBPyConnection, prepared: Prepared) -> None:
    """Give SQL a function that lists what the client of a connection has prepared in messages."""
    con.create_function(PREPARED, prepared, ["UBIGINT"], _PREPARED, side_effects=True)  # type: ignore[list-item,arg-type]


def _as_seen(row: dict[str, Any], reader: dict[str, Any]) -> dict[str, Any]:
    """A client's row with what another may see of it: not its text, its state or its address."""
    seen = {name: row.get(name) for name in _FIELDS}
    if reader["is_admin"] or row.get("usename") == reader["usename"]:
        return seen
    return {**seen, "client_addr": None, "state": None, "query_start": None, "query": _HIDDEN}
