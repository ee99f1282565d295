"""Blanks in the text of an array are PostgreSQL's six; every other character is an element's."""

from __future__ import annotations

import pytest

from relserve.errors import ProtocolError
from relserve.server.wire.array_values import read_array_text

TEXTS = [
    ("{\x1c}", ["\x1c"]),
    ("{\x1f,\u2003, \u00a0 }", ["\x1f", "\u2003", "\u00a0"]),
    ("{\x85NULL,\tnull\v}", ["\x85NULL", None]),
    ("\f[2:3]\r={ a b\n, c}", ["a b", "c"]),
    (r"{a\ ,b\\ ,\ }", ["a ", "b\\", " "]),
    ('{"\x1d"," "}', ["\x1d", " "]),
]


@pytest.mark.parametrize(("text", "values"), TEXTS)
def test_what_is_no_blank_of_postgresqls_is_kept(text: str, values: list[str | None]) -> None:
    assert read_array_text(text, str) == (1, values)


@pytest.mark.parametrize("text", ["\u00a0{a}", "{a}\x1c", "{ ,a}"])
def test_around_an_array_only_blanks_stand(text: str) -> None:
    with pytest.raises(ProtocolError, match="malformed array literal"):
        read_array_text(text, str)
