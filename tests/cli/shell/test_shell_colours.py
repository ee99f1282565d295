"""What is coloured: SQL and relserve's functions as they are typed, the place of an error."""

import pytest
from pygments.token import Keyword, Name, String

from relserve.cli.shell.editor import ShellLexer
from relserve.cli.shell.faults import highlighted
from relserve.errors import TemplateError


def kinds(text: str) -> dict[str, object]:
    return {value: kind for kind, value in ShellLexer().get_tokens(text)}


def test_functions_of_relserve_stand_out() -> None:
    found = kinds("SELECT llm_filter('a {}', $$b$$) FROM LLM_QUERIES()")
    assert found["llm_filter"] is found["LLM_QUERIES"] is Name.Function
    assert found["SELECT"] in Keyword
    assert found["b"] in String


def test_a_dot_command_is_no_sql() -> None:
    found = kinds(".read select.sql\n")
    assert found[".read"] is Keyword
    assert "select" not in found
    assert "".join(value for _, value in ShellLexer().get_tokens(".read it's\n")) == ".read it's\n"


@pytest.mark.parametrize(("text", "red"), [
    ("Parser Error: no\n\nLINE 1: x\n        ^^", ["Parser Error:", "        ^^"]),
    (str(TemplateError("'{' is never closed", "rate {x", 5)), ["'{' is never closed", "       ^"]),
    ("cannot read x: No such file\nin a.sql, line 3", ["cannot read x: No such file"]),
])  # fmt: skip
def test_what_an_error_says_first_and_its_place_are_red(text: str, red: list[str]) -> None:
    shown = highlighted(text)
    assert [shown.plain[span.start : span.end] for span in shown.spans] == red
    assert shown.plain == text
