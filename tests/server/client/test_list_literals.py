"""Lists that a driver writes into its text as PostgreSQL's array literals."""

from __future__ import annotations

import json
from decimal import Decimal

import psycopg
import pytest

from relserve.server.client.list_literals import with_duckdbs_lists
from tests.server.client.conftest import Serve, connect

READ = [
    ("SELECT '{1,NULL}'::int[]", "SELECT ['1', NULL]::int[]"),
    ("SELECT CAST('{a,\"b c\"}' AS varchar(9)[])", "SELECT CAST(['a', 'b c'] AS varchar(9)[])"),
    ("SELECT '{{1,2},{3,4}}'::int[]", "SELECT [['1', '2'], ['3', '4']]::int[][]"),
    ("SELECT '{8.123456,1}'::numeric[]", "SELECT [8.123456, 1]"),
    ("SELECT ' x' = ANY ( '{it''s}' )", "SELECT ' x' IN ('it''s')"),
    ("SELECT 1 <> ALL('{1,2}')", "SELECT 1 NOT IN ('1', '2')"),
    ("SELECT 1 = ANY('{}')", "SELECT 1 = ANY([])"),
    (r"""SELECT E'{"a\\\\b"}'::text[]""", r"SELECT ['a\b']::text[]"),
    ("SELECT llm('{}', a, choices := '{yes,no}')", "SELECT llm('{}', a, choices := ['yes', 'no'])"),
    ("SELECT llm('{}', a, stop => '{END}')", "SELECT llm('{}', a, stop => ['END'])"),
]
TEXTS = [
    "SELECT '{a,b}', '{a}'::text, '{a}' AS b",
    "SELECT 'is {}', \"'{1}'::int[]\", $$'{1}'::int[]$$ -- '{1}'::int[]",
    "SELECT '{1,{2}}'::int[]",
    "INSERT INTO t VALUES ('{a}')",
]


@pytest.mark.parametrize(("text", "put"), READ)
def test_an_array_literal_is_read_as_a_list(text: str, put: str) -> None:
    assert with_duckdbs_lists(text) == put


@pytest.mark.parametrize("text", TEXTS)
def test_every_other_literal_stays_a_text(text: str) -> None:
    assert with_duckdbs_lists(text) == text


def test_lists_of_a_driver_that_writes_them_into_the_text(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'x''y'), (2, '{z}')")
    assert con.execute("SELECT a FROM t WHERE b = ANY(%s)", (["x'y", None],)).fetchall() == [(1,)]
    assert con.execute(
        "SELECT a FROM t WHERE a = ANY(%s) AND b <> ALL(%s)", ([1, 2], ["x'y"])
    ).fetchall() == [(2,)]
    given = [Decimal("8.123456"), None]
    assert con.execute("SELECT %s", (given,)).fetchone() == (given,)
    rows = con.execute(
        "SELECT llm_classify('mood of {}', b, choices := %s) FROM t", (["good", "bad"],)
    ).fetchall()
    assert len(rows) == 2
    assert {row[0] for row in rows} <= {"good", "bad"}


@pytest.mark.parametrize("form", ["%t", "%b"])
def test_lists_that_a_client_binds(serve: Serve, form: str) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    call = f"llm_classify('mood of {{}}', b, choices := {form})"
    text = f"SELECT {call} FROM t WHERE b = ANY({form}) AND a <> ALL({form})"
    ((answer,),) = con.execute(text, (["good", "bad"], ["x", "y"], [2])).fetchall()
    assert answer in ("good", "bad")


@pytest.mark.parametrize(("kind", "nested"), [("text", [["a", "b"], ["c", None]]), ("int", [[1, 2], [3, 4]])])
def test_a_list_of_lists_is_not_made_into_texts(serve: Serve, kind: str, nested: list[object]) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="array of 2 dimensions") as told:
        con.execute(f"SELECT 1, %s::{kind}[]", (nested,))
    assert f"$1::JSON::{kind}[][]" in str(told.value.diag.message_hint)
    assert con.execute(f"SELECT %s::JSON::{kind}[][]", (json.dumps(nested),)).fetchone() == (nested,)
