"""llm_agg through the extension: an aggregate on DuckDB 2, a macro over list() in the stock shell."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from extension_host import Installed, Serve, Service, needs_shell

needs_aggregates = pytest.mark.skipif(
    int(duckdb.__version__.split(".")[0]) < 2, reason="aggregates need DuckDB 2"
)
ROWS = "(VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'x'), (4, 'a', 'x'), (5, 'b', NULL)) t(i, g, v)"


def about(*values: object) -> str:
    """What the scripted engine answers about a group."""
    return "About" + "".join(f"\n{i}. {value}" for i, value in enumerate(values, 1))


FORMS = {
    f"SELECT llm_agg('About{{}}', v) FROM {ROWS}": [(about("x", "x", "x", "y"),)],
    f"SELECT g, llm_agg('About{{}}', v) FROM {ROWS} GROUP BY g ORDER BY g": [
        ("a", about("x", "x", "y")), ("b", about("x"))
    ],
    f"SELECT llm_agg('About{{}}', v) FILTER (g = 'b') FROM {ROWS}": [(about("x"),)],
    f"SELECT llm_agg(DISTINCT 'About{{}}', v) FROM {ROWS}": [(about("x", "y"),)],
    f"SELECT llm_agg('About{{}}', i ORDER BY i DESC) FROM {ROWS}": [(about(5, 4, 3, 2, 1),)],
    f"SELECT g, llm_agg('About{{}}', i ORDER BY i DESC) FROM {ROWS} GROUP BY g ORDER BY g": [
        ("a", about(4, 2, 1)), ("b", about(5, 3))
    ],
    f"SELECT llm_agg('About{{}}', v ORDER BY i DESC) FILTER (g = 'a') FROM {ROWS}": [(about("x", "y", "x"),)],
    f"SELECT i, llm_agg('About{{}}', i) OVER (ORDER BY i) FROM {ROWS} WHERE i < 4 ORDER BY i": [
        (1, about(1)), (2, about(1, 2)), (3, about(1, 2, 3))
    ],
    f"SELECT i, llm_agg('About{{}}', v) OVER (PARTITION BY g) FROM {ROWS} WHERE i > 2 ORDER BY i": [
        (3, about("x")), (4, about("x")), (5, about("x"))
    ],
    f"SELECT i, llm_agg('About{{}}', i) OVER () FROM {ROWS} WHERE i < 3 ORDER BY i": [
        (1, about(1, 2)), (2, about(1, 2))
    ],
    f"SELECT g, llm_agg('About{{}}', i) FROM {ROWS} GROUP BY ROLLUP (g) ORDER BY g NULLS LAST": [
        ("a", about(1, 2, 4)), ("b", about(3, 5)), (None, about(1, 2, 3, 4, 5))
    ],
    f"SELECT g, llm_agg('About{{}}', v) FROM {ROWS} GROUP BY g HAVING llm_agg('About{{}}', v) LIKE '%y%'": [
        ("a", about("x", "x", "y"))
    ],
    f"SELECT llm_agg('About{{}}', v) FROM {ROWS} WHERE i = 5": [(None,)],
    f"SELECT llm_agg('About{{}}', v) FROM {ROWS} WHERE i > 5": [(None,)],
    f"SELECT llm_agg(NULL, v) FROM {ROWS}": [(None,)],
    f"SELECT llm_agg('About{{}}', i / 2) FROM {ROWS} WHERE i < 3": [(about(0.5, 1.0),)],
    f"SELECT llm_agg('About{{}}', [i, NULL]) FROM {ROWS} WHERE i < 2": [(about("[1, NULL]"),)],
    f"SELECT llm_agg('About{{}}', {{'k': v}}) FROM {ROWS} WHERE i = 2": [(about("{'k': y}"),)],
    f"SELECT llm_agg('About{{}}', DATE '2024-02-28' + i::INT) FROM {ROWS} WHERE i < 3": [
        (about("2024-02-29", "2024-03-01"),)
    ],
    f"SELECT llm_agg('About{{}}', v, {{max_chars: 1}}) FROM {ROWS} WHERE i < 2": [(about("x"),)],
    f"PIVOT {ROWS} ON g USING llm_agg('About{{}}', i) GROUP BY v": [
        ("x", about(1, 4), about(3)), ("y", about(2), None), (None, None, about(5))
    ],
}  # fmt: skip
WRONG = {
    f"SELECT llm_agg('About{{}}', v, {{max_tokns: 5}}) FROM {ROWS}": "no option 'max_tokns'. Did you mean",
    f"SELECT llm_agg('About{{}}', v, 5) FROM {ROWS}": "the options of llm_agg() are a struct",
    f"SELECT llm_agg('About{{}}', v, {{max_chars: i}}) FROM {ROWS}": "must be the same for all rows",
    f"SELECT llm_agg(v || '{{}}', v) FROM {ROWS} WHERE i < 5": "must be the same for all rows",
    f"SELECT llm_agg('{{', v) FROM {ROWS}": "'{' is never closed",
    f"SELECT llm_agg('no value', v) FROM {ROWS}": "argument 1 has no placeholder",
    f"SELECT llm_agg('{{}}', v, max_tokens := 5) FROM {ROWS}": "llm_agg(",
}


@pytest.fixture
def con(installed: Installed, service: Service) -> Iterator[duckdb.DuckDBPyConnection]:
    with installed.connect(service) as con:
        con.execute("SELECT llm('{}', 1)").fetchall()  # from which the aggregate knows the socket
        yield con


@pytest.mark.cells(2)
@needs_aggregates
@pytest.mark.parametrize("sql", FORMS)
def test_every_form(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    rows = con.execute(sql).fetchall()
    expected = FORMS[sql]
    assert rows == expected if "ORDER BY g" in sql else sorted(rows, key=str) == sorted(expected, key=str)


@pytest.mark.cells(2)
@needs_aggregates
@pytest.mark.parametrize("sql", WRONG)
def test_a_wrong_call_is_told_why(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        con.execute(sql).fetchall()
    assert WRONG[sql] in str(raised.value)


@pytest.mark.long
@pytest.mark.cells(1)
@needs_aggregates
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("kind", ["", "::VARCHAR"])
def test_five_thousand_groups_are_few_calls(
    con: duckdb.DuckDBPyConnection, service: Service, threads: int, kind: str
) -> None:
    con.execute(f"SET threads = {threads}")
    con.execute("CREATE TABLE big AS SELECT i FROM range(300000) t(i)")
    sql = f"SELECT i % 5000 AS g, llm_agg('Of {{}}', i{kind}) AS a FROM big GROUP BY g ORDER BY g"
    before = len(service.engine.submissions)
    rows = con.execute(sql).fetchall()
    assert len(service.engine.submissions) - before <= 10
    for g, said in rows:
        values = sorted(str(i) for i in range(g, 300_000, 5000))
        assert said == "Of " + "".join(f"\n{n}. {value}" for n, value in enumerate(values, 1))
    counted = "SELECT sum(rows), count(*) FROM llm_queries() WHERE function = 'llm_agg'"
    ((num_rows, num_relqueries),) = con.execute(counted).fetchall()
    # One, but a pause between DuckDB's three chunks of groups, as on a busy machine, begins another.
    assert (num_rows, num_relqueries <= 3) == (5000, True)


@needs_aggregates
def test_statements_have_different_numbers(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"SELECT llm('{{}}', 2), llm_agg('{{}}', i) FROM {ROWS}").fetchall()
    con.execute("SELECT llm('{}', 3)").fetchall()
    told = con.execute("SELECT function, statement FROM llm_queries() ORDER BY started").fetchall()
    assert sorted(function for function, _ in told) == ["llm", "llm", "llm", "llm_agg"]
    assert len({number for _, number in told}) == 4


@needs_aggregates
def test_groups_longer_than_a_prompt_are_asked_in_parts(con: duckdb.DuckDBPyConnection, serve: Serve) -> None:
    service = serve(script=lambda prompt, submission: str(len(prompt.splitlines()) - 1))
    con.execute(f"SET llm_socket = '{service.socket}'; SELECT llm('{{}}', 1)").fetchall()
    asked = "SELECT llm_agg('Sum:{}', i::VARCHAR, {max_chars: 100}) FROM range(100) t(i)"
    (answer,) = con.execute(asked).fetchone() or ()
    assert 1 < int(answer) <= 100
    assert service.engine.num_prompts > 10


@needs_shell
def test_in_the_stock_shell(installed: Installed, service: Service) -> None:
    sql = f"""
        SELECT g, llm_agg('About{{}}', v) AS a FROM {ROWS} GROUP BY g ORDER BY g;
        SELECT llm_agg('About{{}}', v, max_chars := 9) AS a FROM {ROWS} WHERE i = 2;
        SELECT llm_agg('About{{}}', v) FILTER (i > 1) FROM {ROWS};
        SELECT llm_agg_list('About{{}}', list(v ORDER BY i) FILTER (i > 1)) AS b FROM {ROWS};
        SELECT i, llm_agg_list('About{{}}', list(i) OVER (ORDER BY i DESC), max_tokens := 9) AS c FROM {ROWS}
        WHERE i < 3 ORDER BY i;"""
    ran = installed.shell(service, sql, "-json")
    assert r'{"g":"a","a":"About\n1. x\n2. x\n3. y"}' in ran.out
    assert r'{"a":"About\n1. y"}' in ran.out
    assert r'{"b":"About\n1. y\n2. x\n3. x"}' in ran.out
    assert r'{"i":1,"c":"About\n1. 2\n2. 1"}' in ran.out
    assert "only applicable to aggregate functions" in ran.err
