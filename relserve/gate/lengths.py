"""Which prompts are about as long as another, and how many tokens answers of a kind have had.

The latter for requests that say only how many they may have.
"""

from __future__ import annotations

from collections import OrderedDict

MOST_KINDS = 1000  # remembered
RENEWS = 0.05  # weight of the newest
SHORT = 64  # tokens of a prompt, whose work is little beside an answer's
CHARS = 4  # of a token of a prompt, about


def size_of(prompt_tokens: float) -> int:
    """Of prompts that take about as much work as one: 0 for short ones, then one more for each doubling."""
    return (int(prompt_tokens) // SHORT).bit_length()


class Lengths:
    """A mean by kind, the newest counting most."""

    def __init__(self) -> None:
        self._means: OrderedDict[str, float] = OrderedDict()

    def expected(self, kind: str, most: float) -> float:
        """Tokens of a kind's next answer, at least one; as many as it may have where nothing is known."""
        return max(min(self._means.get(kind, most), most), 1.0)

    def learn(self, kind: str, tokens: float) -> None:
        """An answer of a kind had so many."""
        mean = self._means.setdefault(kind, tokens)
        self._means[kind] = mean + RENEWS * (tokens - mean)
        self._means.move_to_end(kind)
        if len(self._means) > MOST_KINDS:
            self._means.popitem(last=False)
