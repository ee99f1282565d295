"""Grammars of the parts of a text: what stands in it word for word, and nothing else.

A text is cut into words, numbers and single other characters, and a part begins and ends between two of
these: a model that quotes `ORD-77598459` cannot stop in the middle of the number. Scripts that write words
without spaces are cut into characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from relserve.call.answer_types import Grammar
from relserve.call.schema.leaves import TextShape
from relserve.call.schema.nested import ListShape, NullableShape, StructShape
from relserve.call.schema.shape import MAX_ITEMS, SchemaShape

NOT_TOLD = "null"  # the reply where the text does not tell what was asked
PART = "part"  # the rule of the parts

# Beyond the alphabets of U+0DFF most scripts have no spaces; U+1E00 to U+1FFF are Latin and Greek again.
_UNIT = re.compile(r"[^\W\d_\u0e00-\u1dff\u2000-\U0010ffff]++|\d++|.", re.DOTALL)
_MARK = "# parts: "  # begins a grammar that carries another one, see `marked`

State = dict[str, int]  # of an automaton: the next state by the unit that leads there


def units_of(text: str) -> list[str]:
    """What a text is cut into; together they are the text."""
    return _UNIT.findall(text)


def automaton(units: Sequence[str]) -> list[State]:
    """An automaton of all parts of a text, built in time linear in it.

    It has at most two states a unit; every state ends a part, and the first one begins all. From Blumer et
    al., "The smallest automaton recognizing the subwords of a text", 1985.
    """
    states: list[State] = [{}]
    links, lengths, last = [-1], [0], 0
    for unit in units:
        new, at, last = len(states), last, len(states)
        states.append({})
        links.append(0)
        lengths.append(lengths[at] + 1)
        while at >= 0 and unit not in states[at]:
            states[at][unit] = new
            at = links[at]
        if at < 0:
            continue
        found = states[at][unit]
        if lengths[found] > lengths[at] + 1:  # it ends longer parts too: those that are shorter get a copy
            copy = len(states)
            states.append(dict(states[found]))
            links.append(links[found])
            lengths.append(lengths[at] + 1)
            links[found] = copy
            while at >= 0 and states[at].get(unit) == found:
                states[at][unit] = copy
                at = links[at]
            found = copy
        links[new] = found
    return states


def part_rules(texts: Sequence[str], in_json: bool, literal: Callable[[str], str]) -> Iterator[str]:
    """Rules in EBNF: `PART` stands for the parts of each of some texts.

    Args:
        in_json: parts as they are written inside a string of JSON.
        literal: quotes a text.
    """
    texts = [text for text in texts if text]
    yield f"{PART} ::= " + (" | ".join(f"t{i}s0" for i in range(len(texts))) or '""')
    for i, text in enumerate(texts):
        states = automaton(units_of(text))
        for number, state in enumerate(states):
            ways = [
                literal(_in_json(unit) if in_json else unit) + (f" t{i}s{to}?" if states[to] else "")
                for unit, to in state.items()
            ]
            if ways:
                yield f"t{i}s{number} ::= {' | '.join(ways)}"


def lark_of(grammar: Grammar, clean: Callable[[str], str]) -> str:
    """The grammar of an answer that quotes, in llguidance's Lark, which has automata of its own.

    Args:
        clean: makes a text that UTF-8 can carry.
    """
    texts = [units_of(clean(text)) for text in grammar.source or () if text]
    shape = grammar.shape
    names = [f"PART{i}" for i in range(len(texts))]
    any_part = f"({' | '.join(names)})"
    # In JSON a small model would write empty texts on and on. An empty reply is as good as null.
    some_part = any_part if shape is None else rf"/(?s:.+)/ & {any_part}"
    lines = [f"PART: {some_part}"] if names else []
    for name, units in zip(names, texts, strict=True):
        chunks = units if shape is None else [_in_json(unit) for unit in units]
        lines.append(f"{name}: %regex {json.dumps({'substring_chunks': chunks}, ensure_ascii=False)}")
    part = "PART" if names else '""'
    if shape is None:  # one terminal: of several, the longest would be taken, though it leads nowhere
        first = ["start: ANSWER", f'ANSWER: " "? ("{NOT_TOLD}" | {part})']
    else:
        first = [f'start: " "? {_lark(shape, part, clean)}']
    return "\n".join([*first, *lines])


def marked(lark: str) -> str:
    """A grammar in EBNF that carries one in Lark, past an engine that checks it by xgrammar.

    By itself it allows anything: an engine that does not look into it holds nothing.
    """
    return f"{_MARK}{json.dumps(lark)}\nroot ::= [^\\x01]*"


def lark_in(grammar: str) -> str | None:
    """The grammar that `marked` put in; None where it is any other."""
    if not grammar.startswith(_MARK):
        return None
    return str(json.loads(grammar.partition("\n")[0].removeprefix(_MARK)))


def _in_json(unit: str) -> str:
    return json.dumps(unit, ensure_ascii=False)[1:-1]


def _lark(shape: SchemaShape, part: str, clean: Callable[[str], str]) -> str:
    """JSON of a shape whose texts are parts, as an expression of a rule."""
    match shape:
        case TextShape():
            return rf'"\"" {part} "\""'
        case NullableShape(inner):
            return f'("{NOT_TOLD}" | {_lark(inner, part, clean)})'
        case ListShape(item, size):
            first = _lark(item, part, clean)
            fewest, most = (0, MAX_ITEMS) if size is None else (size - 1, size - 1)
            items = f'{first} (", " {first}){{{fewest},{most}}}'
            return f'"[" ({items})? "]"' if size is None else f'"[" {items} "]"'
        case StructShape(fields):
            values = (
                f"{json.dumps(clean(json.dumps(name, ensure_ascii=False)) + ': ', ensure_ascii=False)} "
                f'("{NOT_TOLD}" | {_lark(inner, part, clean)})'
                for name, inner in fields
            )
            return '"{" ' + ' ", " '.join(values) + ' "}"'
    return f"/{clean(shape.regex()).replace('/', chr(92) + '/')}/"
