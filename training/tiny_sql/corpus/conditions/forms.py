"""The three ways to say a condition."""

from typing import NamedTuple


class Forms(NamedTuple):
    """Texts in the language of `phrases`, one list a place in the sentence.

    A modifier stands after the noun (`films with a rating above 5`), a predicate after the subject (`which films have a
    rating above 5`), keywords in a terse list (`films rating > 5`), a premodifier before the noun (`active users`),
    a noun in its place (`comedies`).
    """

    modifiers: tuple[str, ...]
    predicates: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    premodifiers: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()

    def __add__(self, other: tuple[object, ...]) -> "Forms":  # type: ignore[override]
        """All texts of both."""
        assert isinstance(other, Forms)
        return Forms(*(mine + its for mine, its in zip(self, other, strict=True)))

    def only(self, word: str) -> "Forms":
        """The texts that hold a word."""
        return Forms(*(tuple(text for text in texts if word in text) for texts in self))

    def without(self, word: str) -> "Forms":
        """The texts that do not hold a word."""
        return Forms(*(tuple(text for text in texts if word not in text) for texts in self))
