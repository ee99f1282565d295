"""Databases for tests of the pipeline: DuckDB in memory behind its protocol, without limits."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import duckdb

from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.linking.values import SchemaValues, ValueHit
from relserve.text2sql.cases.database import ANYTHING, Allowance
from relserve.text2sql.cases.results import ShownRows

BEERS = Schema(
    (
        Table(
            "breweries",
            (
                Column("id", ColumnKind.INT, "INTEGER"),
                Column("name", ColumnKind.TEXT, "VARCHAR", values=("Acme", "Bock & Co")),
                Column("city", ColumnKind.TEXT, "VARCHAR", values=("Berlin", "Oslo")),
            ),
            key=("id",), num_rows=2,
        ),
        Table(
            "beers",
            (
                Column("id", ColumnKind.INT, "INTEGER"),
                Column("name", ColumnKind.TEXT, "VARCHAR", values=("Amber", "Dark", "Pale")),
                Column("style", ColumnKind.TEXT, "VARCHAR", comment="kind of beer", values=("IPA", "Stout")),
                Column("abv", ColumnKind.NUM, "DOUBLE", comment="alcohol by volume"),
                Column("brewery_id", ColumnKind.INT, "INTEGER", references=Reference("breweries", "id")),
            ),
            key=("id",), num_rows=3,
        ),
    )
)  # fmt: skip

FILL = """
CREATE TABLE breweries (id INTEGER, name VARCHAR, city VARCHAR);
INSERT INTO breweries VALUES (1, 'Acme', 'Berlin'), (2, 'Bock & Co', 'Oslo');
CREATE TABLE beers (id INTEGER, name VARCHAR, style VARCHAR, abv DOUBLE, brewery_id INTEGER);
INSERT INTO beers VALUES
    (1, 'Amber', 'IPA', 5.5, 1), (2, 'Dark', 'Stout', 7.0, 2), (3, 'Pale', 'IPA', 4.5, 2);
"""


class Values(SchemaValues):
    """The values that a schema's columns carry, and those that are like a text by difflib."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._all = [ValueHit(t.name, c.name, v) for t, c in schema.columns for v in c.values]

    def similar(self, text: str, k: int) -> Sequence[tuple[ValueHit, float]]:
        ratio = difflib.SequenceMatcher
        scored = [(hit, ratio(None, text.lower(), hit.value.lower()).ratio()) for hit in self._all]
        return sorted(scored, key=lambda pair: -pair[1])[:k]


class MemoryDatabase:
    """Counts what was bound and what ran."""

    def __init__(
        self, schema: Schema = BEERS, fill: str = FILL, golden: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._con, self._schema, self._golden = duckdb.connect(), schema, golden
        self._con.execute(fill)
        self.explained: list[str] = []
        self.ran: list[str] = []

    def schema(self) -> Schema:
        return self._schema

    def values(self) -> Values:
        return Values(self._schema)

    def explain(self, sql: str, within: Allowance = ANYTHING) -> list[tuple[str, str]]:
        self.explained.append(sql)
        found = self._con.execute(f"DESCRIBE {sql}").fetchall()
        return [(name, kind) for name, kind, *_ in found]

    def rows(self, sql: str, within: Allowance = ANYTHING) -> ShownRows:
        self.ran.append(sql)
        return ShownRows(self._con.sql(sql).to_arrow_table())

    def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
        return self._golden[:k]
