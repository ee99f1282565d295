"""What a grammar is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

ROOT = "root"  # the rule that a whole text follows


class Literal(NamedTuple):
    """This text."""

    text: str


class CharSet(NamedTuple):
    """One character of these ranges, or, negated, one of no range; `spelled` as in the grammar."""

    spelled: str
    negated: bool
    ranges: tuple[tuple[str, str], ...]


class RuleName(NamedTuple):
    """What the rule of this name stands for."""

    name: str


class InOrder(NamedTuple):
    """One after another."""

    parts: tuple[Node, ...]


class Either(NamedTuple):
    """One of several."""

    ways: tuple[Node, ...]


class Repeated(NamedTuple):
    """The same, from `least` to `most` times; None: without end."""

    node: Node
    least: int
    most: int | None


Node: TypeAlias = Literal | CharSet | RuleName | InOrder | Either | Repeated
Rules: TypeAlias = Mapping[str, Node]  # by name; ROOT is one of them
