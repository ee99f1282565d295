"""A condition, and how it is said in each place of a sentence."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from training.tiny_sql.corpus import phrases
from training.tiny_sql.corpus.conditions.forms import Forms
from training.tiny_sql.corpus.draft import Draft, Token
from training.tiny_sql.corpus.spoken import SpokenColumn


class Condition(NamedTuple):
    """A condition of the answer; `slots` fill its forms."""

    draft: Draft
    column: SpokenColumn
    answer: tuple[Token, ...]
    forms: Forms
    slots: Mapping[str, Callable[[], str]]

    def modifier(self, one: bool = False) -> str:
        """After a noun, which stands for one row or for several."""
        return self._said(self.forms.modifiers, one)

    def predicate(self, one: bool = False) -> str:
        """After the subject."""
        return self._said(self.forms.predicates, one)

    def keywords(self) -> str:
        """In a terse list."""
        return self._said(self.forms.keywords or self.forms.modifiers, True)

    @property
    def has_premodifier(self) -> bool:
        return bool(self.forms.premodifiers)

    def premodifier(self) -> str:
        """Before the noun."""
        return self._said(self.forms.premodifiers, True)

    @property
    def has_noun(self) -> bool:
        return bool(self.forms.nouns)

    def noun(self) -> str:
        """In place of the noun."""
        return self._said(self.forms.nouns, True)

    def _said(self, texts: tuple[str, ...], one: bool) -> str:
        rng = self.draft.rng
        return phrases.agreeing(phrases.said(texts[int(rng.random() * len(texts))], rng, self.slots), one)


def slots_of(draft: Draft, column: SpokenColumn, **others: str) -> dict[str, Callable[[], str]]:
    """The slots that every condition has, and others that are texts."""
    slots: dict[str, Callable[[], str]] = {
        "col": lambda: draft.column(column),
        "cols": lambda: draft.column(column, many=True),
        "their": lambda: draft.rng.choice(("their", "the")),
    }
    for name, text in others.items():
        slots[name] = lambda text=text: text  # type: ignore[misc]
    return slots
