"""How probable each of some choices is: the sum over all its spellings, the most probable first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from relserve.engines.local.spellings import Spellings

DOUBT = 5e-4  # share of the probability that may be left unseen
WAVE = 0.01  # share of what is open that waits until more is known
MOST_LOOKS = 512  # positions of one row that are looked at; what is open then counts against every choice


class Position(NamedTuple):
    """A point in a reply that spells a part of a choice.

    Attributes:
        logprob: of the tokens so far.
        path: these tokens.
        spelled: their bytes.
        within: index of the choice that was spelled last on the way, which longer ones go on from.
    """

    logprob: float
    path: tuple[int, ...] = ()
    spelled: bytes = b""
    within: int | None = None


class _Found(NamedTuple):
    logprob: float
    choice: int
    within: int | None  # see `Position`


class ChoiceSearch:
    """Finds what probability a model gives to each of some choices.

    The probability of a choice is that of all replies that begin with it and not with a longer choice, over
    all sequences of tokens that spell it, in proportion to the sum of all choices. It is found best first: a
    position that is not looked at can add no more than its own probability, so that the search ends when all
    these together no longer matter.
    """

    def __init__(self, spellings: Spellings) -> None:
        self._spellings = spellings
        self._open = [Position(0.0)]
        self._found: list[
            tuple[float, int, int | None]
        ] = []  # logprob, its choice, the choice it goes on from
        self._num_looks = 0

    def wave(self) -> list[Position]:
        """The positions whose next tokens are to be looked at now; none when the answer is known."""
        scale = self._scale
        rest = sum(math.exp(each.logprob - scale) for each in self._open)
        enough = DOUBT * sum(self._masses(scale))
        if rest <= enough or self._num_looks >= MOST_LOOKS:
            return []
        may_wait = max(enough / 2, WAVE * rest)
        self._open.sort(key=lambda each: each.logprob)
        num_waiting = 0
        for each in self._open:  # the least probable first
            may_wait -= math.exp(each.logprob - scale)
            if may_wait < 0:
                break
            num_waiting += 1
        taken = self._open[max(num_waiting, len(self._open) - (MOST_LOOKS - self._num_looks)) :]
        del self._open[len(self._open) - len(taken) :]
        self._num_looks += len(taken)
        return taken

    def learn(self, position: Position, logprobs: Mapping[int, float]) -> None:
        """The log probabilities of the tokens that may come next at a position of a wave."""
        for token, spelled in self._spellings.steps(position.spelled):
            logprob = position.logprob + logprobs[token]
            if logprob == -math.inf:
                continue
            within = position.within
            choice = self._spellings.end_of(spelled)
            if choice is not None:
                self._found.append(_Found(logprob, choice, within))
                within = choice
            if self._spellings.steps(spelled):
                self._open.append(Position(logprob, (*position.path, token), spelled, within))

    def probabilities(self) -> list[float] | None:
        """Of each choice; they sum to 1, less what was left open. None where no choice can be spelled."""
        scale = self._scale
        masses = self._masses(scale)
        total = sum(masses)
        if total <= 0:
            return None
        rest = sum(math.exp(each.logprob - scale) for each in self._open)
        total += rest if self._num_looks >= MOST_LOOKS else 0.0
        return [mass / total for mass in masses]

    @property
    def _scale(self) -> float:
        """The largest log probability; a long choice's own may be too small for a float."""
        found: Iterable[float] = (logprob for logprob, _, _ in self._found)
        return max(chain(found, (each.logprob for each in self._open)), default=0.0)

    def _masses(self, scale: float) -> list[float]:
        masses = [0.0] * len(self._spellings.choices)
        for logprob, choice, within in self._found:
            mass = math.exp(logprob - scale)
            masses[choice] += mass
            if within is not None:
                masses[within] -= mass
        return [max(0.0, mass) for mass in masses]
