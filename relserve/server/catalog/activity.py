"""pg_stat_activity: who is connected, and for those who may see it, what they run."""

import hmac
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

FUNCTION = "_pg_activity"
_FIELDS = {
    "pid": "INTEGER", "usename": "VARCHAR", "application_name": "VARCHAR", "client_addr": "VARCHAR",
    "backend_start": "TIMESTAMPTZ", "state": "VARCHAR", "query_start": "TIMESTAMPTZ", "query": "VARCHAR",
}  # fmt: skip
_HIDDEN = "<insufficient privilege>"


def register_activity(
    con: duckdb.DuckDBPyConnection, activity: Callable[[], pa.Table], seal: Callable[[str, bool], str]
) -> None:
    """Give SQL a function that lists the clients, for texts sealed with their user."""

    def listed(user: str, is_admin: bool, shown_seal: str) -> list[dict[str, Any]]:
        if not hmac.compare_digest(shown_seal, seal(user, is_admin)):
            return []
        return [_as_seen(row, user, is_admin) for row in activity().to_pylist()]

    columns = ", ".join(f"{name} {kind}" for name, kind in _FIELDS.items())
    con.create_function(
        FUNCTION,
        listed,
        ["VARCHAR", "BOOLEAN", "VARCHAR"],
        f"STRUCT({columns})[]",
        side_effects=True,  # type: ignore[list-item,arg-type]
    )


def _as_seen(row: dict[str, Any], user: str, is_admin: bool) -> dict[str, Any]:
    """A client's row with what another may see of it: not its text, its state or its address."""
    seen = {name: row.get(name) for name in _FIELDS}
    if is_admin or row.get("usename") == user:
        return seen
    return {**seen, "client_addr": None, "state": None, "query_start": None, "query": _HIDDEN}
