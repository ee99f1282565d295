"""A long text is read once for all that is checked of it."""

from __future__ import annotations

import pytest
from duckdb import StatementType as Type

from relserve.server.users import long_texts
from relserve.server.users.nesting import check_nesting

MANY = ", ".join(f"${i}" for i in range(1, 30_001))


def test_checks_of_one_text_read_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    statements = long_texts._statements

    def reading(text: str) -> list[str]:
        read.append(text)
        return statements(text)

    monkeypatch.setattr(long_texts, "_statements", reading)
    text = f"SELECT 1 WHERE 5 IN ({MANY})"
    check_nesting(text)
    assert long_texts.kinds_of_long(text) == [Type.SELECT]
    assert long_texts.kinds_of_long(text) == [Type.SELECT]
    assert read == [text]


@pytest.mark.parametrize("word", ["1copy", "$1copy", "2e5x"])
def test_numbers_that_are_no_numbers_are_seen_among_many(word: str) -> None:
    with pytest.raises(long_texts.Odd):
        long_texts.kinds_of_long(f"SELECT 1 WHERE 5 IN ({MANY}, {word})")
