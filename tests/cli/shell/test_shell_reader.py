"""From lines to statements and dot commands: where DuckDB ends a statement, so does the shell."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.cli.shell.reader import ShellPiece, is_complete, pieces

CON = duckdb.connect()
BLANKS = [" ", "\n", "-- ; '\n", "/* ; */", "/* ' /* ; */ \" */", "\n\n", "\t"]
VALUES = [
    "1", "';'", "'it''s;'", "e'\\';'", '1 AS ";"', '1 AS "a"";"', "$$;'$$", "$t$;$$'$t$", "'\n.mode\n'",
    "1 AS a$b", "1 AS e1", "'--'", "'/*'", "2-1",
]  # fmt: skip
blanks = st.lists(st.sampled_from(BLANKS), max_size=3).map("".join)
spaced = st.tuples(blanks, st.sampled_from(VALUES), blanks).map("".join)
statements = st.lists(spaced, min_size=1, max_size=4).map(lambda values: "SELECT " + ",".join(values))


@given(st.lists(st.tuples(blanks, statements), max_size=4), st.booleans())
def test_statements_end_where_duckdb_ends_them(parts: list[tuple[str, str]], is_ended: bool) -> None:
    text = ";".join(blank + statement for blank, statement in parts) + ";" * is_ended
    found = list(pieces(text))
    expected = CON.extract_statements(text)
    assert [answer(each.text) for each in found] == [answer(each) for each in expected]
    assert not any(each.is_command for each in found)
    assert is_complete(text) is (is_ended or not parts)


def answer(statement: object) -> tuple[list[str], list[tuple[object, ...]]]:
    """The names and rows of a statement's result."""
    done = CON.execute(statement)
    return [name for name, *_ in done.description], done.fetchall()


def test_dot_commands_stand_on_lines_of_their_own_between_statements() -> None:
    text = ".mode csv\n-- a comment\n.timer on\nSELECT 1\n.5; SELECT '\n.quit';\n  .tables\nSELECT 2"
    assert list(pieces(text)) == [
        ShellPiece(".mode csv", 1, True), ShellPiece(".timer on", 3, True),
        ShellPiece("SELECT 1\n.5;", 4, False),
        ShellPiece("SELECT '\n.quit';", 5, False), ShellPiece(".tables", 7, True),
        ShellPiece("SELECT 2", 8, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["SELECT 1", "SELECT ';", 'SELECT ";', "SELECT $$;", "SELECT 1 /* ;", "/* /* */ ;", "-- a\nx"]
)
def test_what_lacks_its_end_is_not_complete(text: str) -> None:
    assert not is_complete(text)
    assert is_complete("SELECT 1; -- done")
    (piece,) = pieces(text)
    assert piece.text == text


@pytest.mark.parametrize("text", ["", ";", " ; ;\n;", "-- nothing\n", "/* ; */"])
def test_nothing_is_no_statement(text: str) -> None:
    assert (list(pieces(text)), is_complete(text)) == ([], True)


def test_thousands_of_lines_and_ends_take_no_time_of_their_own() -> None:
    assert list(pieces(";" * 5_000)) == []
    rows = ",\n".join("(';')" for _ in range(20_000))
    assert [each.line for each in pieces(f"\nVALUES {rows};\nSELECT 1")] == [2, 20_002]
