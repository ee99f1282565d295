"""Random texts of a grammar in xgrammar's EBNF, as far as the grammars here make use of it."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}|[()|?*+]|\w+')
_REPEATED = {"?": (0, 1), "*": (0, 4), "+": (1, 4)}
Node = tuple[Any, ...]


class Walks:
    """Texts of one grammar; the deeper a text is, the sooner it comes to an end."""

    def __init__(self, grammar: str) -> None:
        lines = re.sub(r"\n\s+\|", " |", grammar).strip().splitlines()
        self._rules: dict[str, Node] = {}
        for line in lines:
            name, _, body = line.partition("::=")
            tokens = _TOKEN.findall(body)
            self._rules[name.strip()] = _either(tokens)
            assert not tokens, f"not understood: {tokens}"
        self._least = cache(lambda name: self._depth(self._rules[name], frozenset({name})))

    def text(self, chance: random.Random, depth: int = 14) -> str:
        """A text of the rule root."""
        return self._spelt(("rule", "root"), chance, depth)

    def _depth(self, node: Node, above: frozenset[str]) -> float:
        """How many rules deep the shallowest text of a node is."""
        kind, *parts = node
        if kind == "rule":
            name = parts[0]
            return float("inf") if name in above else 1 + self._depth(self._rules[name], above | {name})
        if kind == "either":
            return min(self._depth(each, above) for each in parts[0])
        if kind == "then":
            return max((self._depth(each, above) for each in parts[0]), default=0)
        if kind == "repeat":
            return 0 if parts[1] == 0 else self._depth(parts[0], above)
        return 0

    def _spelt(self, node: Node, chance: random.Random, depth: float) -> str:
        kind, *parts = node
        if kind == "rule":
            return self._spelt(self._rules[parts[0]], chance, depth - 1)
        if kind == "either":
            fitting = [each for each in parts[0] if self._known_depth(each) <= depth]
            least = min(map(self._known_depth, parts[0]))
            choices = fitting or [each for each in parts[0] if self._known_depth(each) == least]
            return self._spelt(chance.choice(choices), chance, depth)
        if kind == "then":
            return "".join(self._spelt(each, chance, depth) for each in parts[0])
        if kind == "repeat":
            inner, low, high = parts
            is_deep = self._known_depth(inner) > depth
            times = low if is_deep else min(high, low + chance.choice((0, 0, 0, 1, 1, 2)))
            return "".join(self._spelt(inner, chance, depth) for _ in range(times))
        if kind == "class":
            return chance.choice(parts[0])
        return str(parts[0])

    def _known_depth(self, node: Node) -> float:
        if node not in self._depths:
            self._depths[node] = self._depth(node, frozenset())
        return self._depths[node]

    @property
    def _depths(self) -> dict[Node, float]:
        return self.__dict__.setdefault("depths", {})


def _either(tokens: list[str]) -> Node:
    parts = [_then(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        parts.append(_then(tokens))
    return ("either", tuple(parts)) if len(parts) > 1 else parts[0]


def _then(tokens: list[str]) -> Node:
    parts = []
    while tokens and tokens[0] not in ("|", ")"):
        parts.append(_repeated(_single(tokens), tokens))
    return ("then", tuple(parts))


def _repeated(node: Node, tokens: list[str]) -> Node:
    if tokens and (tokens[0] in _REPEATED or tokens[0].startswith("{")):
        mark = tokens.pop(0)
        low, high = _REPEATED.get(mark) or map(int, mark[1:-1].split(","))
        return ("repeat", node, low, high)
    return node


def _single(tokens: list[str]) -> Node:
    token = tokens.pop(0)
    if token == "(":
        inner = _either(tokens)
        assert tokens.pop(0) == ")"
        return inner
    if token.startswith('"'):
        return ("literal", json.loads(token))
    if token.startswith("["):
        return ("class", _characters(token[1:-1]))
    return ("rule", token)


def _characters(inside: str) -> str:
    if inside.startswith("^"):
        return 'aZ9 _%-"é日;'
    spans = re.findall(r"(\\.|.)-(\\.|.)|(\\n|.)", inside)
    return "".join(
        "".join(map(chr, range(ord(first), ord(last) + 1))) if last else single.replace("\\n", "\n")
        for first, last, single in spans
    )
