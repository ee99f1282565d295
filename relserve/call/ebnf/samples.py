"""Texts made up under a grammar, where no model is there to decode under it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from string import ascii_letters, digits

from relserve.call.ebnf.lengths import length_of, shortest
from relserve.call.ebnf.reader import EbnfError
from relserve.call.ebnf.tree import ROOT, CharSet, Either, InOrder, Literal, Node, Repeated, RuleName, Rules

DEEP = 24  # rules within rules, from where the shortest way to an end is taken
MORE = 3  # repetitions beyond the fewest
SURROGATES = ("\ud800", "\udfff")  # which no text may hold
COMMON = ascii_letters + digits + " .,_-"  # looked at first for a character that is in no range


def sample(rules: Rules, chance: Random) -> str:
    """A text that the grammar allows.

    Raises:
        EbnfError: it allows none that comes to an end.
    """
    lengths = shortest(rules)
    if math.isinf(lengths[ROOT]):
        raise EbnfError("no text that the grammar allows comes to an end")
    return "".join(_Sampler(rules, lengths, chance).of(RuleName(ROOT), 0))


class _Sampler:
    """Makes texts up.

    Args:
        lengths: characters of the shortest text of each rule.
    """

    def __init__(self, rules: Rules, lengths: dict[str, float], chance: Random) -> None:
        self._rules, self._lengths, self._chance = rules, lengths, chance

    def of(self, node: Node, depth: int) -> Iterator[str]:
        """The pieces of a text that follows a node, so many rules deep."""
        match node:
            case Literal(text):
                yield text
            case CharSet():
                yield _char_of(node, self._chance)
            case RuleName(name):
                yield from self.of(self._rules[name], depth + 1)
            case InOrder(parts):
                for part in parts:
                    yield from self.of(part, depth)
            case Either(ways):
                yield from self.of(self._way(ways, depth), depth)
            case Repeated(inner, least, most):
                for _ in range(least + self._num_more(inner, least, most, depth)):
                    yield from self.of(inner, depth)

    def _way(self, ways: tuple[Node, ...], depth: int) -> Node:
        lengths = [length_of(way, self._lengths) for way in ways]
        if depth > DEEP:
            return ways[lengths.index(min(lengths))]
        return self._chance.choice(
            [way for way, length in zip(ways, lengths, strict=True) if length < math.inf]
        )

    def _num_more(self, node: Node, least: int, most: int | None, depth: int) -> int:
        if depth > DEEP or math.isinf(length_of(node, self._lengths)):
            return 0
        return self._chance.randint(0, MORE if most is None else min(MORE, most - least))


def _char_of(chars: CharSet, chance: Random) -> str:
    if not chars.negated:
        first, last = chance.choice(chars.ranges)
        char = chr(chance.randint(ord(first), ord(last)))
        return first if SURROGATES[0] <= char <= SURROGATES[1] else char
    allowed = [char for char in COMMON if not any(lo <= char <= hi for lo, hi in chars.ranges)]
    if not allowed:
        raise EbnfError(f"no common character is in {chars.spelled}")
    return chance.choice(allowed)
