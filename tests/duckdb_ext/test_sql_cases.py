"""Every statement form: its rows are the expected ones with prefetch, and in turn without or without a memo.

With prefetch, its calls are asked as one relQuery a call site.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sql_cases import LARGE, ORACLE, SMALL, SMALL_TABLES, Case, by_digit
from sql_fixtures import Made, make, make_tables

CONNECTIONS = {
    "prefetch": dict(),
    "no prefetch": dict(prefetch=False),
    "no memo": dict(prefetch=False, memo=False),
}
FILES = """
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.csv';
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.parquet';
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.json';
"""


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Made]]:
    """The same tables and files behind a connection of each kind."""
    with contextlib.chdir(tmp_path_factory.mktemp("cases")):
        trio = {name: make(script=by_digit, macro=True, **options) for name, options in CONNECTIONS.items()}
        trio["prefetch"].con.execute(SMALL_TABLES + FILES)
        yield trio
        for made in trio.values():
            made.con.close()


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables in a DuckDB that never heard of relserve."""
    with duckdb.connect() as con:
        con.execute(ORACLE)
        make_tables(con)
        yield con


@pytest.mark.cells(16)
@pytest.mark.parametrize("case", SMALL, ids=[case.sql[:90] for case in SMALL])
def test_small_tables(trio: dict[str, Made], case: Case) -> None:
    assert case.rows is not None
    check(trio, case, case.rows, SMALL.index(case))


@pytest.mark.cells(8)
@pytest.mark.parametrize("case", LARGE, ids=[case.sql[:90] for case in LARGE])
def test_large_tables(trio: dict[str, Made], oracle: duckdb.DuckDBPyConnection, case: Case) -> None:
    reset(oracle, True)
    rows = oracle.execute(case.like or case.sql).fetchall()
    if case.shows:
        rows += oracle.execute(case.shows).fetchall()
    check(trio, case, rows, LARGE.index(case))


def check(trio: dict[str, Made], case: Case, expected: list[Any], number: int) -> None:
    """Run a case on the connection with prefetch, and on one of the others by its number."""
    asked, other = {}, ("no prefetch", "no memo")[number % 2]
    for name in ("prefetch", other):
        made = trio[name]
        reset(made.con, case in LARGE)
        before = made.asked
        rows = made.rows(case.sql, case.parameters)
        if case.shows:
            rows += made.rows(case.shows)
        asked[name] = (made.asked[0] - before[0], made.asked[1] - before[1])
        assert in_order(case, rows) == in_order(case, expected), name
    num_prompts, num_relqueries = asked["prefetch"]
    assert case.num_prompts in (num_prompts, -1), asked
    assert case.num_relqueries in (num_relqueries, -1), asked
    if "LIMIT" in case.sql or "BEGIN" in case.sql:
        return  # a rehearsal may ask more than the statement needs, and sees no open transaction
    assert num_prompts <= asked[other][0], asked


def reset(con: Any, large: bool) -> None:
    """Undo what the case before did."""
    if large:
        con.execute("CREATE OR REPLACE TABLE z AS SELECT id, body FROM p WHERE id < 3000")
    con.execute("DROP TABLE IF EXISTS made; DROP TABLE IF EXISTS tt" if large else SMALL_TABLES)


def in_order(case: Case, rows: list[Any]) -> list[Any]:
    """The rows, sorted unless their order counts."""
    if case.ordered:
        return rows
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])


def test_there_are_enough_cases() -> None:
    assert len(SMALL) >= 150
    assert len({case.sql for case in SMALL + LARGE}) == len(SMALL + LARGE)


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("name", CONNECTIONS)
def test_frames_of_the_caller(trio: dict[str, Made], name: str, library: str) -> None:
    table = pa.table({"id": [1, 2, 3], "body": ["one 1", "two 2", None]})
    frame = table if library == "arrow" else pytest.importorskip(library)
    frame = {"arrow": lambda: table, "pandas": table.to_pandas, "polars": lambda: frame.from_arrow(table)}[
        library
    ]()
    made = trio[name]
    before = made.asked
    rows = made.con.execute("SELECT llm('<{}>', body) FROM frame WHERE llm_filter('{}', id + 1)").fetchall()
    assert rows == [("<one 1>",), (None,)]
    assert made.asked[0] - before[0] == 4
    assert len(frame) == 3


def test_without_memo_every_chunk_asks_again() -> None:
    sql = "SELECT count(llm('s {}', body)) FROM p"
    chunks = -(-10_000 // duckdb.__standard_vector_size__)
    for options, expected in ((dict(prefetch=False), 500), (dict(memo=False), 500 * chunks)):
        made = make(**options)
        assert made.rows(sql) == [(10_000,)]
        assert made.asked[0] in range(expected - 200 * (expected > 500), expected + 1)


def test_a_cursor_has_no_memo_either() -> None:
    made = make(memo=False)
    with made.con.cursor() as cursor:
        cursor.execute("SELECT llm('s {}', body) FROM p").fetchall()
    assert made.engine.num_prompts > 2000


def test_one_relquery_of_all_rows_with_its_distinct_count() -> None:
    made = make()
    made.rows("SELECT llm_classify('c {}', title, choices := ['a', 'b']) FROM p")
    record = made.rows("SELECT function, rows, distinct_prompts, null_rows, state FROM llm_queries()")
    assert record == [("llm_classify", 10000, 40, 200, "done")]


def test_one_filter_is_asked_only_where_the_other_said_yes() -> None:
    made = make()
    made.rows("SELECT id FROM p WHERE llm_filter('x {}', id) AND llm_filter('y {}', body) AND id < 4000")
    asked = dict(made.rows("SELECT template, sum(distinct_prompts) FROM llm_queries() GROUP BY ALL"))
    # the second has fewer distinct prompts and comes first; the first is asked for a sample besides
    passed = made.rows("SELECT count(*) FROM p WHERE id < 4000 AND llm_filter('y {}', body)")[0][0]
    assert asked["y {}"] == 500
    assert passed <= asked["x {}"] <= passed + 64
