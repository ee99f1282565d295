"""What requests of a kind take: the tokens of their answers, and what their prompts' lengths add to that."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

MOST_KINDS = 1000  # remembered
RENEWS = 0.05  # weight of the newest, at least
LIKE_ALL = 4  # answers of others, that a new kind is judged by beside its own
SHORT = 64  # tokens of a prompt, whose work is little beside an answer's
CHARS = 4  # of a token of a prompt, about


def size_of(prompt_tokens: float) -> int:
    """Of prompts that take about as much work as one: 0 for short ones, then one more for each doubling."""
    return (int(prompt_tokens) // SHORT).bit_length()


class _Mean(NamedTuple):
    value: float
    num: int

    def with_(self, value: float) -> _Mean:
        weight = max(RENEWS, 1.0 / (self.num + 1))
        return _Mean(self.value + weight * (value - self.value), self.num + 1)


class Means:
    """A mean by kind, the newest counting most; a new kind begins near the mean of all.

    Args:
        like_all: of others, that a new kind is judged by beside its own.
    """

    def __init__(self, like_all: int = 0) -> None:
        self._like_all = like_all
        self._of: OrderedDict[str, _Mean] = OrderedDict()
        self._all: _Mean | None = None

    def get(self, kind: str) -> float | None:
        """That of a kind, or of all where it is new; None: nothing is known."""
        found = self._of.get(kind, self._all)
        return None if found is None else found.value

    def learn(self, kind: str, value: float) -> None:
        """One of a kind had so much."""
        of_all = _Mean(value, 0) if self._all is None else self._all
        known = self._of.get(kind, of_all._replace(num=min(of_all.num, self._like_all)))
        self._all, self._of[kind] = of_all.with_(value), known.with_(value)
        self._of.move_to_end(kind)
        if len(self._of) > MOST_KINDS:
            self._of.popitem(last=False)


class AnswerLengths(Means):
    """Tokens of answers, for requests that say only how many they may have."""

    def __init__(self) -> None:
        super().__init__(LIKE_ALL)

    def expected(self, kind: str, most: float) -> float:
        """Tokens of a kind's next answer, at least one; as many as it may have where nothing is known."""
        known = self.get(kind)
        return max(most if known is None else min(known, most), 1.0)
