"""Grammars in GBNF, the notation of llama.cpp and of the servers built on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from relserve.call.answer_types import Grammar
from relserve.call.ebnf import EbnfError, left_recursive, read_ebnf
from relserve.call.ebnf.tree import CharSet, Either, InOrder, Literal, Node, Repeated, RuleName, Rules
from relserve.call.parts import NOT_TOLD, PART, part_rules
from relserve.call.schema.leaves import TextShape
from relserve.call.schema.shape import SchemaShape

MOST_REPEATS = 2000  # llama.cpp parses no more, and what it cannot parse ends llama-cpp-python's server
MOST_CHARS = 500  # of texts whose parts are spelled out: xgrammar compiles their rules for 0.3 s

_PART = re.compile(
    r"(?P<set>\[\^?(?:\\.|[^\]\\])++(?P<shut>\])?)|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<count>[?*+]|\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\})|(?P<char>\\?.)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]")
_ESCAPES = 'xuUtrn\\"[]-'  # that a set may hold
_SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')
_HOLE = "\ue000"  # stands where a text does, in a regex that has no other use for it


@lru_cache(maxsize=64)  # asked for each row of a call
def gbnf_of(grammar: Grammar) -> str | None:
    """The grammar in GBNF, with the space that may stand before; None where llama.cpp would not parse it.

    Raises:
        EbnfError: it is an ebnf that llama.cpp would not parse.
    """
    if grammar.source is not None:
        return _of_parts(grammar.source, grammar.shape)
    if grammar.ebnf:
        return _of_rules(read_ebnf(grammar.ebnf))
    if grammar.choices:
        choices = grammar.choice_alternatives(_literal)
        return f"""root ::= {'" "? ' if grammar.takes_space else ""}({choices})"""
    return _of_regex(f" ?({grammar.shape.regex() if grammar.shape is not None else grammar.regex})")


def _of_parts(source: Sequence[str], shape: SchemaShape | None) -> str | None:
    """JSON whose texts are parts of others, or such a part itself; of long texts, any text."""
    if sum(map(len, source)) > MOST_CHARS:
        return None if shape is None else _of_regex(f" ?({shape.regex()})")
    rules = "\n".join(part_rules(source, shape is not None, _literal))
    if shape is None:
        return f'root ::= " "? ("{NOT_TOLD}" | {PART})\n{rules}'
    outer = _of_regex(f" ?({shape.regex().replace(TextShape().regex(), _HOLE)})")
    quoted = rf'"\"" {PART} "\""'
    return None if outer is None else outer.replace(_literal(_HOLE), quoted) + "\n" + rules


def _of_regex(regex: str) -> str | None:
    """A rule for each group: what is repeated is then one symbol, however much it holds."""
    names: dict[str, str] = {}  # of the groups, by what they hold
    open_groups: list[list[str]] = [[]]
    for part in _PART.finditer(regex):
        symbols, kind = open_groups[-1], part.lastgroup
        if kind == "open":
            open_groups.append([])
        elif kind == "close":
            held = " ".join(open_groups.pop())
            open_groups[-1].append(names.setdefault(held, f"group{len(names)}"))
        elif kind == "count":
            if max(int(part["least"] or 0), int(part["most"] or 0)) > MOST_REPEATS:
                return None
            symbols[-1] += part[0]
        elif kind == "char":
            symbols.append(_literal(part[0][-1]))
        elif kind == "set" and part["shut"] is None:
            return None
        else:
            symbols.append(_ESCAPED.sub(_in_set, part[0]))
    rules = [f"{name} ::= {held}" for held, name in names.items()]
    return "\n".join([f"root ::= {' '.join(open_groups[0])}", *rules])


def _of_rules(rules: Rules) -> str:
    """Rules on a line each, under names that GBNF has letters for."""
    if (loop := left_recursive(rules)) is not None:
        raise EbnfError(f"the rule {loop!r} begins with itself, which llama.cpp does not take")
    names: dict[str, str] = {}  # by those of the rules
    for name in rules:
        plain = _NOT_IN_NAMES.sub("-", name)
        while plain in names.values():
            plain += "-"
        names[name] = plain
    return "\n".join(f"{names[name]} ::= {_of_node(node, names)}" for name, node in rules.items())


def _of_node(node: Node, names: Mapping[str, str]) -> str:
    match node:
        case Literal(text):
            return _literal(text)
        case CharSet(spelled):
            return _ESCAPED.sub(_in_set, spelled)
        case RuleName(name):
            return names[name]
        case InOrder(parts):
            return " ".join(_grouped(part, names, (InOrder, Either)) for part in parts) or '""'
        case Either(ways):
            return " | ".join(_of_node(way, names) for way in ways)
        case Repeated(inner, least, most):
            if max(least, most or 0) > MOST_REPEATS:
                raise EbnfError(f"it repeats more than {MOST_REPEATS:,} times, which llama.cpp does not take")
            repeated = _grouped(inner, names, (InOrder, Either, Repeated))
            return f"{repeated}{{{least},{'' if most is None else most}}}"


def _grouped(node: Node, names: Mapping[str, str], loose: tuple[type, ...]) -> str:
    """A node as a part of another, in which those of some kinds would fall apart."""
    spelled = _of_node(node, names)
    return f"({spelled})" if isinstance(node, loose) else spelled


def _literal(text: str) -> str:
    return '"' + _SPECIAL.sub(lambda found: _escaped(found[0]), text) + '"'


def _in_set(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] in _ESCAPES else escape[1]


def _escaped(char: str) -> str:
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"
