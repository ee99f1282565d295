"""A bar a relQuery where a person looks, none elsewhere."""

from __future__ import annotations

import io
import sys

import pytest
from relserve_duckdb import attach
from sql_fixtures import make


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "screen", "shown"),
    [
        (None, Terminal(), True),
        (True, io.StringIO(), True),
        (None, io.StringIO(), False),
        (False, Terminal(), False),
    ],
)
def test_bar(
    monkeypatch: pytest.MonkeyPatch, progress: bool | None, screen: io.StringIO, shown: bool
) -> None:
    made = make(chunk=50, pause_s=0.1)
    con = attach(made.con, made.con.session, progress=progress)
    monkeypatch.setattr(sys, "stderr", screen)
    con.execute("SELECT llm('x {}', body) FROM p").fetchall()
    text = screen.getvalue()
    assert ("llm() on 10,000 rows" in text) is shown
    if shown:
        assert "/500" in text
        assert text.endswith("\r")  # cleared
