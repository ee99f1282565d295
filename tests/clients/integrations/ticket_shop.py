"""The table and the examples of docs/integrations.md that keep a column of it fresh."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"


def example(heading: str) -> str:
    """The Python block below a heading, with the scripted engine as its model."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1]
    code = re.search(r"```py\n(.*?)```", section, re.DOTALL)[1]
    return code.replace('"http://127.0.0.1:8000/v1"', '"scripted"')


def add_tickets(ids: range) -> None:
    """Tickets come in."""
    with duckdb.connect("shop.db") as con:
        con.execute("CREATE TABLE IF NOT EXISTS tickets (id BIGINT, message VARCHAR)")
        for i in ids:
            con.execute("INSERT INTO tickets (id, message) VALUES (?, ?)", [i, f"message {i}"])


def kinds() -> dict[str, int]:
    """How many tickets have each kind."""
    with duckdb.connect("shop.db") as con:
        return dict(con.execute("SELECT kind, count(*) FROM tickets GROUP BY ALL").fetchall())
