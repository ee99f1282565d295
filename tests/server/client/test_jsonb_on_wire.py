"""jsonb is DuckDB's JSON, inside a transaction too, which a refusal of DuckDB's would end."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.server.client.conftest import Serve, connect


@pytest.mark.parametrize("cursor", [psycopg.Cursor, psycopg.ClientCursor])
def test_jsonb_in_a_transaction(serve: Serve, cursor: type[psycopg.Cursor[object]]) -> None:
    con = connect(serve(), cursor_factory=cursor)
    con.execute("CREATE TABLE t (a INTEGER, doc jsonb DEFAULT '{}'::jsonb)")
    con.execute("ALTER TABLE t ADD COLUMN other JSONB")
    con.execute("INSERT INTO t VALUES (1, %s::jsonb, CAST(%s AS jsonb))", (Jsonb({"a": [1]}), "[2]"))
    assert con.execute("SELECT doc, other -> %s FROM t WHERE doc ->> 'a' = '[1]'", (0,)).fetchall() == [
        ({"a": [1]}, 2)
    ]
    assert con.execute("SELECT '[10, 20]'::jsonb -> %s", (1,)).fetchone() == (20,)
    assert con.execute("SELECT %s::text = '[1]'::jsonb::text", (Jsonb([1]),)).fetchone() == (True,)


def test_a_name_and_a_text_are_no_type(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute('CREATE TABLE t AS SELECT 1 AS jsonb, \'{"a": 1}\'::JSON AS "my jsonb"')
    text = "SELECT jsonb, t.jsonb + %s, 'jsonb'::VARCHAR, \"my jsonb\" FROM t -- jsonb"
    assert con.execute(text, (1,)).fetchone() == (1, 2, "jsonb", {"a": 1})
    with pytest.raises(psycopg.errors.UndefinedTable, match="nowhere"):
        con.execute("SELECT a::jsonb FROM nowhere")
