"""llm calls through psycopg: plain and binary, by a cursor of the server, by COPY, prepared, and explained."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.clients.bi.programs.checks import Checks
from tests.clients.bi.programs.statements import CALLS, EXPLAINED, PREPARED, VIEW, Statement


def connect() -> Any:
    """With the view."""
    con = psycopg.connect("")
    con.execute(VIEW)
    con.commit()
    return con


checks = Checks(connect)


def texts(found: Any) -> list[list[str | None]]:
    """Rows as lists of texts."""
    return [[None if value is None else str(value) for value in row] for row in found]


def copied(con: Any, statement: Statement) -> Any:
    """The rows of COPY TO STDOUT."""
    with con.cursor().copy(f"COPY ({statement.text}) TO STDOUT") as copy:
        return texts(copy.rows())


def fetched(con: Any, statement: Statement) -> Any:
    """The rows of a cursor of the server, seven at a time."""
    with con.cursor("named", binary=True) as cursor:
        cursor.itersize = 7
        cursor.execute(statement.text)
        return texts(cursor)


def executed(con: Any, statement: Statement, prepare: bool, binary: bool) -> Any:
    """The rows of the last of three runs with the same values."""
    cursor = psycopg.RawCursor(con)
    for _ in range(3):
        found = cursor.execute(statement.text, statement.values, prepare=prepare, binary=binary).fetchall()
    return texts(found)


for each in CALLS:
    checks.add(f"{each.name}_plain", lambda con, each=each: texts(con.execute(each.text.encode())))
    checks.add(f"{each.name}_cursor", lambda con, each=each: fetched(con, each))
    checks.add(f"{each.name}_copy", lambda con, each=each: copied(con, each))
for each in PREPARED:
    checks.add(f"{each.name}_plain", lambda con, each=each: executed(con, each, prepare=False, binary=True))
    checks.add(
        f"{each.name}_prepared", lambda con, each=each: executed(con, each, prepare=True, binary=False)
    )
for each in EXPLAINED:
    checks.add(
        f"{each.name}_explain", lambda con, each=each: texts(con.execute(f"EXPLAIN {each.text}".encode()))
    )


if __name__ == "__main__":
    checks.run()
