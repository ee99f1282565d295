"""Texts that clients asked of PostgreSQL 15, with what it answered (`texts/`).

They were taken from its log (log_statement=all) and from `psql -E`, over the tables of `clients.py` made
there too. A text without an answer asks for what differs by nature: sizes, operator classes, text search,
versions, casts that DuckDB writes otherwise.
"""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

_TEXTS = Path(__file__).with_name("texts")
_LABELS = """
    SELECT oid, relname FROM _pg.cat.pg_class() WHERE oid >= 20000
    UNION ALL SELECT oid, 't:' || typname FROM _pg.cat.pg_type() WHERE oid >= 20000
    UNION ALL SELECT oid, 'n:' || nspname FROM _pg.cat.pg_namespace() WHERE oid >= 13000
    UNION ALL SELECT oid, 'c:' || conname FROM _pg.cat.pg_constraint()
    UNION ALL SELECT oid, 'd:' || datname FROM _pg.cat.pg_database()
"""


class Recorded(NamedTuple):
    """A client's text; what PostgreSQL answered has its columns' names and its rows in any order."""

    id: str
    sql: str
    answer: dict[str, Any] | None


def recorded() -> list[Recorded]:
    """Every recorded text."""
    return [text for path in sorted(_TEXTS.glob("*.sql")) for text in _of(path)]


def _of(path: Path) -> list[Recorded]:
    answers = json.loads(path.with_suffix(".json").read_text("utf-8"))
    parts = re.split(r"(?m)^-- (\d+)(.*)\n", path.read_text("utf-8"))[1:]
    return [
        Recorded(f"{path.stem} {number}{what}", sql.strip().removesuffix(";"), answers.get(number))
        for number, what, sql in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


class Oids:
    """The oids of one database's objects, by the names that the texts and answers know them by."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._names: dict[int, str] = dict(con.execute(_LABELS).fetchall())
        self._oids = {name: oid for oid, name in self._names.items()}

    def filled(self, sql: str) -> str:
        """A text with oids in place of names."""
        return re.sub(r"\{([^{}]*)\}", lambda m: str(self._oids.get(m[1], m[0])), sql)

    def named(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        """Rows with names in place of oids, in the order of their text."""
        return sorted((self._named(row) for row in rows), key=str)

    def _named(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._named(item) for item in value]
        if isinstance(value, str) and value.isdigit():
            return self._named(int(value))
        if isinstance(value, str) and re.fullmatch(r"\{.*\}", value):
            return [self._named(item) for item in value[1:-1].split(",")] if value != "{}" else []
        if isinstance(value, int) and not isinstance(value, bool):
            return f"<{self._names[value]}>" if value in self._names else value
        return float(value) if isinstance(value, Decimal) else value
