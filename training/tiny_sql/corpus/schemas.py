"""Made-up schemas: one to six tables, in the styles of names that databases have."""

import random
from typing import TypeAlias

from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from training.tiny_sql.corpus.cells import example_values
from training.tiny_sql.corpus.lexicon import columns as names
from training.tiny_sql.corpus.lexicon.meanings import ADJECTIVES
from training.tiny_sql.corpus.lexicon.tables import BRIDGES, MODIFIERS, PEOPLE, THINGS
from training.tiny_sql.corpus.lexicon.verbs import EVENTS
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenSchema, SpokenTable
from training.tiny_sql.corpus.words import common_word, made_up_word, plural

Style: TypeAlias = str

TABLE_COUNTS = ((1, 2, 3, 4, 5, 6), (0.40, 0.32, 0.15, 0.06, 0.04, 0.03))
STYLES = (("snake", "Pascal", "camel", "joined", "upper"), (0.72, 0.1, 0.08, 0.06, 0.04))
KINDS = (
    (ColumnKind.TEXT, ColumnKind.INT, ColumnKind.NUM, ColumnKind.DATE, ColumnKind.BOOL),
    (0.34, 0.24, 0.22, 0.13, 0.07),
)
BASES = {
    ColumnKind.TEXT: names.TEXT,
    ColumnKind.INT: names.INT,
    ColumnKind.NUM: names.NUM,
    ColumnKind.DATE: names.DATE,
    ColumnKind.BOOL: names.BOOL,
}
TELLING = {
    ColumnKind.INT: tuple(base for base in names.INT if base in ADJECTIVES or base in EVENTS),
    ColumnKind.NUM: tuple(base for base in names.NUM if base in ADJECTIVES),
    ColumnKind.DATE: tuple(base for base in names.DATE if base in EVENTS),
}
SQL_TYPES = {
    ColumnKind.TEXT: "VARCHAR",
    ColumnKind.INT: "INTEGER",
    ColumnKind.NUM: "DOUBLE",
    ColumnKind.DATE: "DATE",
    ColumnKind.BOOL: "BOOLEAN",
}
MAX_COLUMNS = 40
BRIDGE_SHARE = 0.35  # of schemas with three tables or more


def schema(rng: random.Random, held_out: bool = False) -> SpokenSchema:
    """A schema of chance, in which no two columns of a table have one name for DuckDB."""
    while True:
        made = _any_schema(rng, held_out)
        if all(
            len({column.name.casefold() for column in table.columns}) == len(table.columns)
            for table in made.tables
        ):
            return made


def _any_schema(rng: random.Random, held_out: bool) -> SpokenSchema:
    count = rng.choices(*TABLE_COUNTS)[0]
    maker = _Maker(rng, held_out, rng.choices(*STYLES)[0])
    while len(maker.tables) < count:
        maker.add_table(8 if count < 4 else 5)
    maker.add_references()
    if rng.random() < 0.5:
        rng.shuffle(maker.tables)
    return maker.finished()


def styled(name: str, style: Style) -> str:
    """A name of small words between underscores in a database's style."""
    parts = name.split("_")
    if style == "Pascal":
        return "".join(map(str.capitalize, parts))
    if style == "camel":
        return parts[0] + "".join(map(str.capitalize, parts[1:]))
    if style == "joined" and len(name) < 10:
        return "".join(parts)
    return name.upper() if style == "upper" else name


def core(name: str, noun: str) -> str:
    """What is left of a column's name when people speak of it: two columns of a table never share it."""
    short = name.removeprefix("is_").removeprefix(noun + "_")
    return short.removesuffix("_date").removesuffix("_on").removesuffix("_at")


class _Maker:
    def __init__(self, rng: random.Random, held_out: bool, style: Style):
        self.tables: list[SpokenTable] = []
        self._rng, self._held_out, self._style = rng, held_out, style
        self._nouns: set[str] = set()
        self._plural = rng.random() < 0.65
        self._declares_keys = rng.random() < 0.5

    def add_table(self, most: int) -> None:
        rng = self._rng
        noun, person = self._noun()
        if noun in self._nouns:
            return
        self._nouns.add(noun)
        *rest, last = noun.split("_")
        many = self._plural if rng.random() < 0.9 else not self._plural
        stored = "_".join((*rest, plural(last))) if many else noun
        table = SpokenTable(styled(stored, self._style), noun.replace("_", " "), person)
        self.tables.append(table)
        self._add_columns(table, noun, rng.randint(3, most))

    def _noun(self) -> tuple[str, bool]:
        rng = self._rng
        chance = rng.random()
        if chance < 0.42:
            return rng.choice(THINGS), False
        if chance < 0.62:
            return rng.choice(PEOPLE), True
        if chance < 0.80:
            return common_word(rng, self._held_out), False
        if chance < 0.88:
            return rng.choice(MODIFIERS) + "_" + rng.choice(THINGS), False
        if chance < 0.94:
            return common_word(rng, self._held_out) + "_" + rng.choice(THINGS), False
        return made_up_word(rng, self._held_out), False

    def _add_columns(self, table: SpokenTable, noun: str, count: int) -> None:
        rng = self._rng
        used: set[str] = set()
        if rng.random() < 0.75:
            self._add(table, rng.choice(("id", "id", "id", noun + "_id")), ColumnKind.INT)
        if rng.random() < 0.72:
            choices = names.NAMES if not table.person else ("name", "name", "full_name", "{table}_name")
            self._add(table, rng.choice(choices).format(table=noun), ColumnKind.TEXT)
        while len(table.columns) < count:
            kind = rng.choices(*KINDS)[0]
            name = self._column_name(kind)
            may_be_named = name not in self._nouns or (kind is ColumnKind.TEXT and rng.random() < 0.5)
            if core(name, noun) not in used and may_be_named:
                used.add(core(name, noun))
                self._add(table, name, kind)

    def _add(self, table: SpokenTable, name: str, kind: ColumnKind) -> SpokenColumn:
        column = SpokenColumn(table, styled(name, self._style), kind, tuple(name.split("_")))
        table.columns.append(column)
        return column

    def _column_name(self, kind: ColumnKind) -> str:
        rng, held_out = self._rng, self._held_out
        base = rng.choice(TELLING[kind] if kind in TELLING and rng.random() < 0.35 else BASES[kind])
        if kind is ColumnKind.BOOL:
            return rng.choice((base, base, base, "is_" + base))
        chance = rng.random()
        if chance < 0.50:
            return base
        if chance < 0.62:
            return rng.choice(MODIFIERS) + "_" + base
        if chance < 0.77:
            return common_word(rng, held_out) + "_" + base
        if chance < 0.88:
            name = common_word(rng, held_out)
        elif chance < 0.93:
            name = common_word(rng, held_out) + "_" + common_word(rng, held_out)
        else:
            name = made_up_word(rng, held_out)
        return name + rng.choice(("_date", "_on", "_at", "_date")) if kind is ColumnKind.DATE else name

    def add_references(self) -> None:
        """Join every table to an earlier one; now and then a table joins two others and holds little else."""
        rng = self._rng
        for number in range(1, len(self.tables)):
            one, other = self.tables[number], self.tables[rng.randrange(number)]
            if rng.random() < 0.5:
                one, other = other, one
            self._refer(one, other)
        if len(self.tables) >= 2 and sum(len(table.columns) for table in self.tables) < MAX_COLUMNS - 8:
            if rng.random() < (BRIDGE_SHARE if len(self.tables) > 2 else 0.12):
                self._add_bridge()

    def _add_bridge(self) -> None:
        rng = self._rng
        noun = rng.choice(BRIDGES)
        one, other = rng.sample(self.tables, 2)
        linked = {(column.table.name, column.refers) for table in self.tables for column in table.columns}
        if noun in self._nouns or (one.name, other.name) in linked or (other.name, one.name) in linked:
            return
        stored = plural(noun) if rng.random() < 0.6 else noun
        table = SpokenTable(styled(stored, self._style), noun.replace("_", " "), False)
        self.tables.append(table)
        self._add_columns(table, noun, rng.randint(1, 3))
        self._refer(table, one)
        self._refer(table, other)

    def _refer(self, holder: SpokenTable, target: SpokenTable) -> None:
        rng = self._rng
        if all(column.words[-1] != "id" or column.refers for column in target.columns):
            key = self._add(target, "id", ColumnKind.INT)
            target.columns.insert(0, target.columns.pop())
            assert key.table is target
        noun = target.singular.replace(" ", "_")
        name = rng.choice((noun + "_id",) * 6 + (noun,))
        if any(column.words == tuple(name.split("_")) for column in holder.columns):
            return
        column = self._add(holder, name, ColumnKind.INT)
        column.refers = target.name
        holder.columns.insert(rng.randint(1, len(holder.columns) - 1), holder.columns.pop())

    def finished(self) -> SpokenSchema:
        """Fill in values and positions, and write the schema as `relserve.linking` reads it."""
        position = 0
        for number, table in enumerate(self.tables):
            table.position = number
            for column in table.columns:
                column.position = position
                position += 1
                if column.kind is ColumnKind.TEXT:
                    column.values = example_values(self._rng, column, self._held_out)
        return SpokenSchema(self.tables, Schema(tuple(map(self._table, self.tables))), self._held_out)

    def _table(self, table: SpokenTable) -> Table:
        own = [column.name for column in table.columns if column.words[-1] == "id" and not column.refers]
        key = tuple(own[:1]) if self._declares_keys else ()
        return Table(table.name, tuple(map(self._column, table.columns)), key=key)

    def _column(self, column: SpokenColumn) -> Column:
        reference = None
        if column.refers is not None:
            target = next(table for table in self.tables if table.name == column.refers)
            key = next(other for other in target.columns if other.words[-1] == "id" and not other.refers)
            reference = Reference(target.name, key.name)
        return Column(
            column.name, column.kind, SQL_TYPES[column.kind], references=reference, values=column.values
        )
