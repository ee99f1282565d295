"""A text of the caller's, parsed on their connection: for whoever runs it and for whoever explains it."""

from __future__ import annotations

from typing import Any

import duckdb

from relserve_duckdb.text.checked import parse_checked
from relserve_duckdb.text.statements import Statement
from relserve_duckdb.udf.connection_state import ConnectionState


def parse(
    raw: duckdb.DuckDBPyConnection, state: ConnectionState, query: Any, parameters: Any = None
) -> list[Statement]:
    """The statements of a text, their calls checked; raises as `parse_checked` does.

    The models that it names are the caller's own from now on, and what runs in its statements' place is
    noted for errors that quote it.
    """
    state.session.model_hosts.note(getattr(query, "query", query), parameters)
    statements = parse_checked(raw, query, parameters, state.client.warn_of_constant)
    if stand_ins := [each.stand_in for each in statements if each.stand_in is not None]:
        state.stand_ins = stand_ins
    return statements
