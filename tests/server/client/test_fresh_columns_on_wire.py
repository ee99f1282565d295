"""Fresh columns over the server: refused, for their expression is a text that no check of users' SQL sees."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

CALLS = (
    "CALL llm_materialize('t', 'kind', 'content FROM read_text(''/etc/hostname'')')",
    "CALL llm_refresh('t', 'kind')",
    "EXPLAIN CALL llm_refresh('t', 'kind')",
)


@pytest.mark.parametrize("call", CALLS)
def test_they_are_refused(serve: Serve, call: str) -> None:
    with connect(serve()) as client:
        client.execute("CREATE TEMP TABLE t AS SELECT 1 AS x")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not kept over this server"):
            client.execute(call)
