"""Texts on which DuckDB's parser would work for minutes are refused before it sees them."""

from __future__ import annotations

import duckdb
import pytest

from relserve.errors import ComplexSqlError, ProtocolError
from relserve.server.users.long_texts import LONG
from relserve.server.users.nesting import DEEPEST, FEW, check_nesting

PAD = f"SELECT '{'(' * LONG}'; "

TOO_DEEP = [
    "SELECT " + "(" * 4_000,
    "SELECT " + "(" * 4_000 + "1" + ")" * 4_000,
    "SELECT " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
    "WITH a AS (" * 10,
    "with a as (" * 6 + "SELECT 1 1" + ")" * 6,
    "SELECT * FROM " + "(SELECT * FROM (WITH a AS (SELECT 1) " * 200,
]
UNMATCHED = {
    "SELECT " + "(" * 9: "never closed",
    "WITH a AS (SELECT ((((1)))": "never closed",
    "SELECT (((((1))))))": "closes nothing",
    "SELECT (((((1))))]": "closes nothing",
}
WELL = [
    "SELECT " + "(" * 200 + "1" + ")" * 200,
    "WITH a AS (WITH b AS (WITH c AS (SELECT (((1)))) FROM c) FROM b) FROM a",
    "SELECT '((((((((', $$ (((((( $$, $t$ ((((( ' $t$, E'\\'((((((('",
    'SELECT 1 AS "((((((((" -- (((((((((',
    "SELECT 1 /* (((( /* (((( */ (((( */",
    "INSERT INTO t VALUES " + ", ".join(["((1), [2], {'a': (3)})"] * 1_000),
    "; ".join(["WITH a AS (SELECT 1) FROM a"] * 20),
]


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize("text", TOO_DEEP)
def test_texts_that_are_nested_too_deep_are_refused(before: str, text: str) -> None:
    with pytest.raises(ComplexSqlError, match=r"^a statement may have .* deep, and this has"):
        check_nesting(before + text)


@pytest.mark.cells(8)
@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(
    "piece",
    [
        "@ ",
        "!\n",
        "-@ ",
        "+ @ ",
        "=> ",
        "/ ",
        "|| ",
        "% ",
        "@ 1 + ",
        "@ NOT ",
        "@ 'a' || ",
        "- %--x\n",
        "^/**/",
    ],
)
def test_signs_before_what_they_are_about_are_few(before: str, piece: str) -> None:
    """DuckDB does not count them, and 10,000 end its process."""
    for text in (f"SELECT {piece * 1_100}1", f"INSERT INTO t VALUES (1, {piece * 40_000}'x')"):
        with pytest.raises(ComplexSqlError, match="may have 1,000 signs before what they are about"):
            check_nesting(before + text)


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT " + "CASE WHEN " * 4_000 + "1)", "CASE in CASE 250 deep"),
        ("SELECT " + "case a when 1 then " * 300 + "1" + " end" * 300, "CASE in CASE 250 deep"),
        ("SELECT 1 " + "UNION ALL SELECT 1 " * 2_001, "2,000 times UNION"),
        ("SELECT 1 " + "except SELECT 1 INTERSECT SELECT 2 " * 1_001, "2,000 times UNION"),
        ("SELECT " + "a." * 200 + "a FROM t", "fewer than 100 parts"),
        ("SELECT " + '"a b"  . ' * 40_000 + "a", "fewer than 100 parts"),
        ("SELECT a" + "\n.\nf" * 200 + "()", "fewer than 100 parts"),
        ("SELECT a" + "--x\n.f()" * 3 + ".--'\nf" * 200, "fewer than 100 parts"),
    ],
    ids=[
        "cases",
        "closed cases",
        "unions",
        "other sets",
        "names",
        "quoted names",
        "in lines",
        "behind comments",
    ],
)
def test_what_is_deep_without_brackets_is_refused(before: str, text: str, said: str) -> None:
    if before and "--" in text:
        text = text.replace("--'", "--")  # a quote makes a long text odd, which the short one tries
    with pytest.raises(ComplexSqlError, match=said):
        check_nesting(before + text)


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(
    "item",
    ["-1", "a || 'b'", "year || 'b'", "'@ @ @ @ @'", "x @> y", "count(*)", "t.* -- @ @ @\n", "- 5 * x % 2",
     '"@ @ @"', "'http://x/?a=b&c=d'", "NULL = NULL", "CASE WHEN a THEN b END <> (1) ^ 2", "1.5", "a.b.c",
     "'a.b'", "f.g(h.i).j", "'A. B. C. D.'"],
)  # fmt: skip
def test_signs_between_what_they_are_about_may_be_many(before: str, item: str) -> None:
    check_nesting(before + f"SELECT {', '.join([item] * 1_500)}")


def test_many_unions_of_few_words() -> None:
    check_nesting("SELECT 'union' AS a " + "UNION ALL SELECT 'union except' " * 1_500)


def test_a_string_is_no_name_of_many_parts() -> None:
    check_nesting(f"SELECT '{'a. ' * 300}', $$ {'a.' * 300} $$ -- {'a.' * 300}")


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(("text", "said"), UNMATCHED.items())
def test_brackets_that_do_not_match_are_refused(before: str, text: str, said: str) -> None:
    with pytest.raises(ProtocolError, match=said) as refused:
        check_nesting(before + text)
    assert refused.value.sqlstate == "42601"


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize("text", WELL)
def test_brackets_in_texts_names_and_comments_are_none(before: str, text: str) -> None:
    check_nesting(before + text)
    assert duckdb.extract_statements(before + text)


def test_of_few_brackets_duckdb_says_what_is_wrong() -> None:
    check_nesting("SELECT " + "(" * FEW)
    with pytest.raises(ProtocolError):
        check_nesting("SELECT " + "(" * (FEW + 1))


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(
    "number", ["$65536", "$1000000000", "$ 99999", "?070000", "$1_000_000", "$--x\n70000"]
)
def test_a_parameters_number_is_no_size_of_a_list(before: str, number: str) -> None:
    with pytest.raises(ProtocolError, match=r"there is no parameter \$") as refused:
        check_nesting(f"{before}SELECT {number} + 1")
    assert refused.value.sqlstate == "42P02"


@pytest.mark.parametrize("before", ["", PAD], ids=["short", "long"])
@pytest.mark.parametrize(
    "text", ["$65535", "$1, 1000000", "'$1000000', $1", '"$1000000"', "'?123456'", "$a1000000"]
)
def test_large_numbers_of_no_parameter(before: str, text: str) -> None:
    check_nesting(f"{before}SELECT {text}")
