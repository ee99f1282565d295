"""How short a grammar's texts can be, and which rules begin with themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from relserve.call.ebnf.tree import CharSet, Either, InOrder, Literal, Node, Repeated, RuleName, Rules


def shortest(rules: Rules) -> dict[str, float]:
    """Characters of the shortest text of each rule; infinite where none comes to an end."""
    lengths = dict.fromkeys(rules, math.inf)
    while True:
        found = {name: length_of(node, lengths) for name, node in rules.items()}
        if found == lengths:
            return found
        lengths = found


def length_of(node: Node, lengths: Mapping[str, float]) -> float:
    """Characters of the shortest text of a node, given those of the rules."""
    match node:
        case Literal(text):
            return len(text)
        case CharSet():
            return 1
        case RuleName(name):
            return lengths[name]
        case InOrder(parts):
            return sum(length_of(part, lengths) for part in parts)
        case Either(ways):
            return min(length_of(way, lengths) for way in ways)
        case Repeated(inner, least, _):
            return least * length_of(inner, lengths) if least else 0


def left_recursive(rules: Rules) -> str | None:
    """A rule that may begin with itself; None where there is none."""
    lengths = shortest(rules)
    first = {name: set(_first(node, lengths)) for name, node in rules.items()}
    for name in rules:
        reached, new = set[str](), first[name]
        while new:
            reached |= new
            new = {other for each in new for other in first[each]} - reached
        if name in reached:
            return name
    return None


def _first(node: Node, lengths: Mapping[str, float]) -> Iterator[str]:
    """The rules that a node may begin with."""
    match node:
        case RuleName(name):
            yield name
        case InOrder(parts):
            for part in parts:
                yield from _first(part, lengths)
                if length_of(part, lengths):
                    return
        case Either(ways):
            for way in ways:
                yield from _first(way, lengths)
        case Repeated(inner, _, _):
            yield from _first(inner, lengths)
