"""How probable each of some choices is: the sum over all its spellings, the most probable first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from relserve.engines.local.spellings import Spellings

DOUBT = 5e-4  # share of the probability that may be left unseen
# The same where no choice can have the probability that suffices, or labels would tell it no better.
DOUBT_BELOW = 0.02
WAVE = 0.01  # share of what is open that waits until more is known
MOST_LOOKS = 512  # positions of one row that are looked at; what is open then counts against every choice
BEAM = 4  # positions that are looked at together until the first choice is reached, however many it takes


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
    all sequences of tokens that spell it, in proportion to the sum of all choices.

    The search looks first where the tokenizer itself would go, which has most of a choice's probability, then
    everywhere, the most probable positions first. One that is not looked at can add no more than its own
    probability, so that the search ends when all these together no longer matter.

    Args:
        sure_at: a probability of which only matters whether the choice has it: the search ends when that is
            sure, wherever all that was not looked at leads, and tells no more than about how probable it is
            (see `DOUBT_BELOW`). At 1 every search goes on to the end.
        about: the choice that is asked about, by its index; None: the most probable one.
        doubt: the share of the probability that may be left unseen.
    """

    def __init__(
        self, spellings: Spellings, sure_at: float = 1.0, about: int | None = None, doubt: float = DOUBT
    ) -> None:
        self._spellings, self._sure_at, self._about = spellings, sure_at, about
        self._may_miss = doubt
        self._open = [Position(0.0)]
        self._found: list[_Found] = []
        self._num_looks = 0

    def wave(self) -> list[Position]:
        """The positions whose next tokens are to be looked at now; none when the answer is known."""
        if self._sure_at < 1 and self._found and self._is_sure():
            return []
        straight = [each for each in self._open if self._spellings.is_straight(each.path)]
        taken = self._wave_of(straight) or self._wave_of(self._open)
        looked = {each.path for each in taken}
        self._open = [each for each in self._open if each.path not in looked]
        self._num_looks += len(taken)
        return taken

    def _wave_of(self, positions: list[Position]) -> list[Position]:
        """Those of some positions that are worth looking at now."""
        if not self._found:
            # Long choices are far less probable than what begins like them: which comes to an end first?
            return sorted(positions, key=_logprob_a_byte)[-BEAM:]
        scale = self._scale
        rest = sum(math.exp(each.logprob - scale) for each in positions)
        enough = self._doubt(rest) * sum(self._masses(scale))
        if rest <= enough or self._num_looks >= MOST_LOOKS:
            return []
        may_wait = max(enough / 2, WAVE * rest)
        ordered = sorted(positions, key=lambda each: each.logprob)
        num_waiting = 0
        for each in ordered:  # the least probable first
            may_wait -= math.exp(each.logprob - scale)
            if may_wait < 0:
                break
            num_waiting += 1
        return ordered[max(num_waiting, len(ordered) - (MOST_LOOKS - self._num_looks)) :]

    def learn(self, position: Position, logprobs: Mapping[int, float]) -> None:
        """The log probabilities of the tokens that may come next at a position of a wave."""
        for token, spelled in self._spellings.steps(position.spelled):
            logprob = position.logprob + logprobs[token]
            if not logprob > -math.inf or not self._spellings.counts((*position.path, token), spelled):
                continue
            within = position.within
            choice = self._spellings.end_of(spelled)
            if choice is not None:
                self._found.append(_Found(logprob, choice, within))
                within = choice
            if self._spellings.goes_on(spelled):
                self._open.append(Position(logprob, (*position.path, token), spelled, within))

    def _doubt(self, rest: float) -> float:
        """The share of the probability that may be left unseen, where so much is open."""
        masses = self._masses(self._scale)
        most = max(masses) if self._about is None else masses[self._about]
        is_below = self._sure_at < 1 and most + rest < self._sure_at * (sum(masses) + rest)
        return DOUBT_BELOW if is_below else self._may_miss

    def _is_sure(self) -> bool:
        """Whether the choice has the probability that suffices, and is the best where none is asked about."""
        scale = self._scale
        masses = self._masses(scale)
        best = max(range(len(masses)), key=masses.__getitem__) if self._about is None else self._about
        left = [(each.within, math.exp(each.logprob - scale)) for each in self._open]
        num_open = sum(mass for _, mass in left)
        least = masses[best] - sum(mass for within, mass in left if within == best)
        others = max((mass for i, mass in enumerate(masses) if i != best), default=0.0)
        if self._about is None and least < others + num_open:
            return False
        return least >= self._sure_at * (sum(masses) + num_open) and least > 0

    def probabilities(self) -> list[float] | None:
        """Of each choice; they sum to 1, less what was left open. None where no choice can be spelled."""
        if not self._found:
            return None
        scale = max(each.logprob for each in self._found)
        masses = self._masses(scale)
        total = sum(masses)
        if self._num_looks >= MOST_LOOKS:
            total += sum(math.exp(min(700.0, each.logprob - scale)) for each in self._open)
        return [mass / total for mass in masses]

    def mass(self) -> float:
        """The probability that a reply begins with any of the choices, less what was left open."""
        scale = self._scale
        return min(1.0, math.exp(scale) * sum(self._masses(scale)))

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


def _logprob_a_byte(position: Position) -> float:
    return position.logprob / max(1, len(position.spelled))
