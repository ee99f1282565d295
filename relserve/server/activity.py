"""Who is connected and what they run, as pg_stat_activity tells it; who may see it tells the catalog."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from relserve.server.client.state import ClientState

_TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("pid", pa.int32()), ("usename", pa.string()), ("application_name", pa.string()),
        ("client_addr", pa.string()), ("client_port", pa.int32()), ("backend_start", _TIME),
        ("query_start", _TIME), ("state_change", _TIME), ("state", pa.string()), ("query", pa.string()),
        ("connection", pa.int64()), ("is_admin", pa.bool_()),
    ]
)  # fmt: skip


def activity_table(states: Sequence[ClientState]) -> pa.Table:
    """A row a client."""
    rows = [
        dict(
            pid=each.pid, usename=each.user.name,
            application_name=each.variables.find("application_name"), client_addr=each.channel.peer[0],
            client_port=each.channel.peer[1], backend_start=each.backend_start, query_start=each.query_start,
            state_change=each.state_change, state=each.status, query=each.text,
            connection=each.connection, is_admin=each.user.is_admin,
        )
        for each in states
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, SCHEMA)
