"""A schema as people speak of it: nouns for its tables, words for its columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from relserve.linking.schema import ColumnKind, Schema
from training.tiny_sql.corpus.lexicon.columns import GROUPING_INTS, LONG_TEXTS, NEVER_SUMMED
from training.tiny_sql.corpus.words import plural

Value = TypeVar("Value")
NAME_ENDINGS = ("name", "title", "label")


@dataclass(slots=True, eq=False)
class SpokenColumn:
    """A column; `position` counts over the whole schema, `refers` names the table of a foreign key."""

    table: "SpokenTable"
    name: str
    kind: ColumnKind
    words: tuple[str, ...]
    position: int = -1
    refers: str | None = None
    values: tuple[str, ...] = ()

    @property
    def is_key(self) -> bool:
        return self.refers is not None or self.words[-1] == "id"

    @property
    def is_long(self) -> bool:
        return self.words[-1] in LONG_TEXTS

    @property
    def is_year(self) -> bool:
        return self.kind is ColumnKind.INT and self.words[-1] == "year"

    @property
    def is_number(self) -> bool:
        return self.kind in (ColumnKind.INT, ColumnKind.NUM) and not self.is_key

    @property
    def is_counted(self) -> bool:
        """Whether its number counts things, as stars, seats or goals."""
        return self.kind is ColumnKind.INT and (
            self.words[-1] not in NEVER_SUMMED or self.words[-1].endswith("s")
        )

    @property
    def is_summed(self) -> bool:
        return self.words[-1] not in NEVER_SUMMED

    @property
    def is_group(self) -> bool:
        """Whether rows are grouped by it."""
        if self.kind is ColumnKind.TEXT:
            return not self.is_long
        return self.kind is ColumnKind.BOOL or (
            self.kind is ColumnKind.INT and self.words[-1] in GROUPING_INTS
        )

    def meaning(self, lexicon: Mapping[str, Value]) -> Value | None:
        """What a lexicon says of this column: under its whole name, else under its last word."""
        found = lexicon.get("_".join(self.words))
        return lexicon.get(self.words[-1]) if found is None else found


@dataclass(slots=True, eq=False)
class SpokenTable:
    """A table with its noun."""

    name: str
    singular: str
    person: bool
    columns: list[SpokenColumn] = field(default_factory=list)
    position: int = -1

    @property
    def plural(self) -> str:
        *rest, last = self.singular.split()
        return " ".join((*rest, plural(last)))

    @property
    def plain(self) -> list[SpokenColumn]:
        """The columns that are neither keys nor references."""
        return [column for column in self.columns if not column.is_key]

    @property
    def numbers(self) -> list[SpokenColumn]:
        return [column for column in self.columns if column.is_number]

    @property
    def dates(self) -> list[SpokenColumn]:
        return [column for column in self.columns if column.kind is ColumnKind.DATE]

    @property
    def groups(self) -> list[SpokenColumn]:
        return [column for column in self.columns if column.is_group]

    @property
    def name_column(self) -> SpokenColumn | None:
        """The column that names a row, where there is one: as `relserve.linking` marks it."""
        texts = [column for column in self.columns if column.kind is ColumnKind.TEXT]
        return next((column for column in texts if column.words[-1].endswith(NAME_ENDINGS)), None)


@dataclass(slots=True, eq=False)
class SpokenSchema:
    """The tables, and the same as `relserve.linking` has them; `held_out`: of words kept out of training."""

    tables: list[SpokenTable]
    schema: Schema
    held_out: bool
