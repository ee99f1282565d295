"""The SQL cases whose calls are filters, once more: a cascade with targets of 1 gives the same rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
from sql_cases import SMALL, SMALL_TABLES, Case, by_digit
from sql_fixtures import Made, make
from sqlglot.tokens import Tokenizer, TokenType
from test_sql_cases import FILES, in_order, reset

from relserve.engines.scripted import ScriptedEngine

SURE = ", cascade := 'small', precision := 1, recall := 1"


def cascaded(sql: str) -> str:
    """The text with every llm_filter as a cascade that promises all of the large model's answers."""
    tokens = Tokenizer(dialect="duckdb").tokenize(sql)
    ends, depths = [], list[int]()  # where calls end; the depths of those that are open
    depth = 0
    for before, token in pairwise([tokens[0], *tokens]):
        if token.token_type == TokenType.L_PAREN:
            depth += 1
            if before.text.lower() == "llm_filter":
                depths.append(depth)
        elif token.token_type == TokenType.R_PAREN:
            if depths and depths[-1] == depth:
                ends.append(token.start)
                depths.pop()
            depth -= 1
    for end in reversed(ends):
        sql = sql[:end] + SURE + sql[end:]
    return sql


CASES = [case for case in SMALL if "llm_filter(" in case.sql and "min_confidence" not in case.sql]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with contextlib.chdir(tmp_path_factory.mktemp("cascaded")):
        made = make(script=by_digit, macro=True)
        small = ScriptedEngine(model="small")
        made.con.session.find_engine = lambda name: small if name == "small" else made.engine
        made.con.execute(SMALL_TABLES + FILES)
        yield made
        assert small.num_prompts > len(CASES), "cascades were asked"
        made.con.close()


@pytest.mark.cells(30)
@pytest.mark.parametrize("case", CASES, ids=[case.sql[:90] for case in CASES])
def test_a_sure_cascade_gives_the_rows_of_the_plain_filter(made: Made, case: Case) -> None:
    reset(made.con, False)
    sql = cascaded(case.sql)
    assert SURE in sql
    rows = made.rows(sql, case.parameters)
    if case.shows:
        rows += made.rows(case.shows)
    assert in_order(case, rows) == in_order(case, case.rows or [])


def test_most_filter_cases_are_among_them() -> None:
    assert len(CASES) >= 30
