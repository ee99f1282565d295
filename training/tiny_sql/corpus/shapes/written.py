"""What a shape gives back, and what all shapes use."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from training.tiny_sql.corpus import phrases
from training.tiny_sql.corpus.draft import Draft, Token
from training.tiny_sql.corpus.filters.choice import filters_on
from training.tiny_sql.corpus.filters.condition import Condition
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenTable
from training.tiny_sql.corpus.subjects import modifiers, predicate, subject, terse, where

Slots: TypeAlias = dict[str, Callable[[], str]]
Answer: TypeAlias = tuple[Token, ...]


class Written(NamedTuple):
    """A question with markers in place of what it mentions, and its answer."""

    text: str
    answer: Answer


Shape: TypeAlias = Callable[[Draft], Written | None]


class WrittenRows(NamedTuple):
    """Rows of a table under some conditions."""

    table: SpokenTable
    conditions: Sequence[Condition] = ()
    joint: str = "and"

    def slots(self, draft: Draft) -> Slots:
        """The ways to speak of them."""
        table, conditions, joint = self
        slots: Slots = {
            "rows": lambda: subject(draft, table, conditions, joint=joint),
            "row": lambda: subject(draft, table, conditions, one=True, joint=joint),
            "noun": lambda: draft.row(table),
            "nouns": lambda: draft.rows(table),
        }
        if conditions:
            slots |= {
                "do": lambda: predicate(draft, conditions, joint=joint),
                "does": lambda: predicate(draft, conditions, one=True, joint=joint),
                "mods": lambda: modifiers(draft, conditions, joint),
                "terse": lambda: terse(draft, table, conditions, joint),
                "terse_only": lambda: terse_only(draft, conditions, joint),
            }
        return slots

    @property
    def source(self) -> Answer:
        """FROM and WHERE of the answer."""
        return ("from", self.table, *where(self.conditions, self.joint))


def terse_only(draft: Draft, conditions: Sequence[Condition], joint: str) -> str:
    """The conditions as keywords, without the noun."""
    return f" {joint} ".join([condition.keywords() for condition in conditions])


def said(draft: Draft, frames: Sequence[str], slots: Mapping[str, Callable[[], str]]) -> str:
    """One of the frames, filled."""
    return phrases.said(frames[int(draft.rng.random() * len(frames))], draft.rng, slots)


def some_rows(
    draft: Draft, table: SpokenTable, share: float, avoid: SpokenColumn | None = None
) -> WrittenRows:
    """All rows of a table, or, in a share of questions, those under a condition."""
    rng = draft.rng
    if rng.random() >= share:
        return WrittenRows(table)
    return WrittenRows(table, filters_on(draft, table, 2 if rng.random() < 0.12 else 1, avoid))


def name_or_all(table: SpokenTable) -> Token:
    """What a question for things gives: their names where they have one, else whole rows."""
    return table.name_column or "*"


def listed(columns: Sequence[SpokenColumn]) -> Answer:
    """Columns between commas."""
    out: list[Token] = []
    for column in columns:
        out += [",", column] if out else [column]
    return tuple(out)
