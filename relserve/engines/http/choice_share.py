"""How probable a choice is among all choices, as far as one reply's likeliest tokens tell."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from relserve.call.answer_types import Grammar

UNTOLD = -9999.0  # what servers write in place of minus infinity, and of probabilities that they do not tell


class ReplyToken(NamedTuple):
    """A token of a reply: its text, its log probability, and the likeliest texts in its place with theirs."""

    text: str
    logprob: float
    likeliest: dict[str, float]


def share_of(grammar: Grammar, answer: str, tokens: Sequence[ReplyToken], start: int) -> float | None:
    """The probability of `answer` in proportion to that of all choices; None where too little is told.

    A token in the place of the reply's counts for the choices that can still follow, to equal parts: which of
    them it would have become is not told. The local engine asks about it; see `ChoiceSearch`.

    Args:
        tokens: of the whole reply.
        start: where the answer begins in their text.
    """
    if answer not in grammar.choices or not any(len(token.likeliest) > 1 for token in tokens):
        return None
    spread = _spread(grammar)
    found: list[tuple[float, float]] = []  # log probabilities, and the answer's part of each
    so_far, reached = "", 0.0
    for token in tokens:
        if len(so_far) + len(token.text) > start:
            for text, logprob in token.likeliest.items():
                if text and text != token.text:
                    part = spread.part_of(answer, grammar.without_space((so_far + text)[start:]))
                    if part is not None:
                        found.append((reached + logprob, part))
            reached += token.logprob
        so_far += token.text
        if grammar.choice_of(grammar.without_space(so_far[start:])) == answer and not grammar.may_go_on(
            answer
        ):
            break
    return _in_proportion([*found, (reached, 1.0)])


def _in_proportion(found: Sequence[tuple[float, float]]) -> float | None:
    """The sum of the parts, in proportion to that of the wholes; scaled, since either may be tiny."""
    highest = max(logprob for logprob, _ in found)
    if highest <= UNTOLD:
        return None
    scaled = [(math.exp(logprob - highest), part) for logprob, part in found]
    return min(1.0, sum(mass * part for mass, part in scaled) / sum(mass for mass, _ in scaled))


class _Spread:
    """The ways to write choices sorted, to find those that a text begins."""

    def __init__(self, written: Mapping[str, str]) -> None:
        self._sorted, self._written = sorted(written), written
        self._longest = max(map(len, written))

    def part_of(self, answer: str, begun: str) -> float | None:
        """The part of a text's probability that is the answer's; None where the text begins no choice."""
        first = bisect_left(self._sorted, begun)
        end = bisect_right(self._sorted, begun, lo=first, key=lambda choice: choice[: len(begun)])
        if end > first:
            meant = [self._written[text] for text in self._sorted[first:end]]
            return meant.count(answer) / len(meant)
        # perhaps one of them and then something else, such as a quotation mark
        lengths = range(min(len(begun), self._longest), 0, -1)
        whole = next((begun[:length] for length in lengths if begun[:length] in self._written), None)
        return None if whole is None else float(self._written[whole] == answer)


@lru_cache(maxsize=16)
def _spread(grammar: Grammar) -> _Spread:
    return _Spread(grammar.written)
