"""How probable a choice is among all choices, as far as one reply's likeliest tokens tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from relserve.call.answer_types import Grammar


class Token(NamedTuple):
    """A token of a reply: its text, its log probability, and the likeliest texts in its place with theirs."""

    text: str
    logprob: float
    likeliest: dict[str, float]


def share_of(grammar: Grammar, answer: str, tokens: Sequence[Token], start: int) -> float | None:
    """The probability of `answer` in proportion to that of all choices; None where no other token is told.

    A token in the place of the reply's counts for the choices that can still follow, to equal parts: which of
    them it would have become is not told. The local engine asks about it; see `ChoiceSearch`.

    Args:
        tokens: of the whole reply.
        start: where the answer begins in their text.
    """
    if answer not in grammar.choices or not any(len(token.likeliest) > 1 for token in tokens):
        return None
    masses = dict.fromkeys(grammar.choices, 0.0)
    said, reached = "", 1.0
    for token in tokens:
        if len(said) + len(token.text) > start:
            for text, logprob in token.likeliest.items():
                if text and text != token.text:
                    _share_out(masses, grammar, (said + text)[start:], reached * math.exp(logprob))
            reached *= math.exp(token.logprob)
        said += token.text
        if grammar.without_space(said[start:]) == answer and not grammar.may_go_on(answer):
            break
    masses[answer] += reached
    return min(1.0, masses[answer] / sum(masses.values()))


def _share_out(masses: dict[str, float], grammar: Grammar, begun: str, mass: float) -> None:
    begun = grammar.without_space(begun)
    meant = [choice for choice in masses if choice.startswith(begun)]
    if not meant:  # perhaps one of them and then something else, such as a quotation mark
        meant = sorted((choice for choice in masses if begun.startswith(choice)), key=len)[-1:]
    for choice in meant:
        masses[choice] += mass / len(meant)
