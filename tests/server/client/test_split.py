"""A text as its statements, and a statement without what surrounds it."""

from __future__ import annotations

import pytest

from relserve.server.client.split import bare, split


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (r"SELECT E'\';' ; SELECT 2", [r"SELECT E'\';' ", " SELECT 2"]),
        (r"SELECT DATE'\'; SELECT 2", [r"SELECT DATE'\'", " SELECT 2"]),
        (r"SELECT a FROM t WHERE x LIKE'\'; SELECT 2", [r"SELECT a FROM t WHERE x LIKE'\'", " SELECT 2"]),
        ("SELECT $$;$$; ; -- ;\n", ["SELECT $$;$$"]),
        ("SELECT 1 /* ; */; SELECT '--;'", ["SELECT 1 /* ; */", " SELECT '--;'"]),
    ],
)
def test_split(text: str, parts: list[str]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("/* a */ -- b\n SELECT 1 ; -- c\n /* d */ ; ", "SELECT 1"),
        ("SELECT '-- a' -- b", "SELECT '-- a'"),
        ("SELECT /* a */ 1 -- b", "SELECT /* a */ 1"),
        ("SELECT '/* a */'", "SELECT '/* a */'"),
        ("SELECT $$ -- a $$", "SELECT $$ -- a $$"),
        ("-- only this", ""),
        ("SELECT 1 /* never ends", "SELECT 1 /* never ends"),
    ],
)
def test_bare(text: str, statement: str) -> None:
    assert bare(text) == statement
