"""A client's text that is nested too deep: it is told so at once, and nobody waits for it."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

WITHS = "WITH a AS (" * 12
DEEP = "SELECT " + "(" * 4_000
TEXTS = {
    "alone": WITHS,
    "brackets": DEEP,
    "after another": f"SELECT 1; {WITHS}",
    "explained": f"EXPLAIN ANALYZE {DEEP}",
    "prepared": f"PREPARE p AS {WITHS}",
    "stored": f"CREATE VIEW v AS {DEEP}",
    "copied": f"COPY ({WITHS}{')' * 13} TO STDOUT",
    "of the catalog": f"SELECT relname FROM pg_class WHERE {'(' * 4_000}",
    "asking the model": f"SELECT llm('x {{}}', {'(' * 4_000}",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
def test_a_text_that_is_nested_too_deep_is_refused_at_once(serve: Serve, extended: bool) -> None:
    con = connect(serve(), autocommit=True)
    for name, text in TEXTS.items():
        if name == "after another" and extended:
            continue
        with pytest.raises(psycopg.errors.StatementTooComplex, match="deep, and this has"):
            con.execute(text, binary=extended, prepare=extended)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_texts_in_values_are_not_parsed(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    for function in ("json_serialize_sql", "json_serialize_plan"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=function):
            con.execute(f"SELECT {function}(repeat('(', 4000))")
    assert con.execute("SELECT length(%s)", [DEEP]).fetchone() == (len(DEEP),)


def test_brackets_that_do_not_match_are_a_syntax_error(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    for text in ("SELECT (((((1))))", "SELECT (1"):
        with pytest.raises(psycopg.errors.SyntaxError):
            con.execute(text)
