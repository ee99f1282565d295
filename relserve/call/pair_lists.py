"""One prompt about many pairs: rows of two sides in numbered lists, and the numbers of those that match."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.call.fences import unfenced
from relserve.call.options import CAPS, Options
from relserve.call.relquery import CallSite
from relserve.call.schema import Misfit
from relserve.call.schema.ranges import between
from relserve.call.schema.shape import JsonSchema, misfit
from relserve.call.template import BoundTemplate, Template, text_of

MAX_TOKENS = 1024  # of a list; what does not fit is asked in parts
MOST_COUNTED = 256  # pairs of which a list ends after as many; a larger grammar takes long to compile
LEFT, RIGHT = "A", "B"
_SHARED = ("model", "system", "temperature", "top_p", "seed", "thinking", "deadline", "slo", *CAPS)
_KEY = "matches"


@dataclass(frozen=True)
class PairListShape:
    """JSON such as {"matches": [[1, 3], [2, 1]]}: numbers of a left and a right row.

    Where one side has a single row, the numbers of the other side alone: {"matches": [3, 4]}.
    """

    num_lefts: int
    num_rights: int
    words: str = f'{{"{_KEY}": [..]}}'
    longest: None = None

    @property
    def is_single(self) -> bool:
        """Whether one side has a single row."""
        return 1 in (self.num_lefts, self.num_rights)

    @property
    def max_chars(self) -> int:
        return len(self.words) + 16 * self.num_lefts * self.num_rights

    def regex(self) -> str:
        first, second = between(1, self.num_lefts), between(1, self.num_rights)
        num = self.num_lefts * self.num_rights
        item = between(1, num) if self.is_single else rf"\[{first}, {second}\]"
        times = f"{{0,{num - 1}}}" if num <= MOST_COUNTED else "*"  # else a model that repeats itself goes on
        more = "" if num == 1 else rf"(, {item}){times}"
        return rf'\{{"{_KEY}": \[({item}{more})?\]\}}'

    def json_schema(self) -> JsonSchema:
        number = {"type": "integer"}
        item = number if self.is_single else {"type": "array", "items": number}
        return {
            "type": "object",
            "properties": {
                _KEY: {"type": "array", "items": item, "maxItems": self.num_lefts * self.num_rights}
            },
            "required": [_KEY],
            "additionalProperties": False,
        }

    def read(self, value: Any, where: str) -> list[tuple[int, int]]:
        """The pairs, each counted from 0.

        Raises:
            Misfit: it has other numbers than those of the lists.
        """
        items = value.get(_KEY) if isinstance(value, dict) else None
        if not isinstance(items, list):
            raise misfit(value, where, self.words)
        return [self._pair(item, where) for item in items]

    def sample(self, random: Random) -> dict[str, list[Any]]:
        pair = [1 + random.randrange(self.num_lefts), 1 + random.randrange(self.num_rights)]
        return {_KEY: [max(pair)] if self.is_single else [pair]}

    def _pair(self, item: Any, where: str) -> tuple[int, int]:
        if self.is_single and isinstance(item, int):
            item = [1, item] if self.num_lefts == 1 else [item, 1]
        if not isinstance(item, list) or len(item) != 2 or not all(type(each) is int for each in item):
            raise misfit(item, where, "a pair of numbers")
        left, right = item
        if not (1 <= left <= self.num_lefts and 1 <= right <= self.num_rights):
            raise misfit(item, where, f"a row of {self.num_lefts} and {self.num_rights}")
        return left - 1, right - 1


def pair_list_site(site: CallSite, lefts: Sequence[int], rights: Sequence[int]) -> CallSite:
    """The call that asks a filter's question of many pairs, by texts of `listed` as its only value.

    Args:
        lefts, rights: the slots of the values of each side.
    """
    options = replace(
        Options(max_tokens=MAX_TOKENS), **{name: getattr(site.options, name) for name in _SHARED}
    )
    question = _question(site.binding, lefts, rights).replace("{", "{{").replace("}", "}}")
    text = (
        f"Below are two numbered lists, {LEFT} and {RIGHT}. This question is asked of each pair of an "
        f"[{LEFT}] and a [{RIGHT}]:\n{question}\n\n{{}}"
    )
    return CallSite("llm", Template.parse(text).bind(1), options)


def listed(lefts: Sequence[str], rights: Sequence[str]) -> tuple[str, Grammar]:
    """The lists and what to answer, and the grammar of the answer."""
    shape = PairListShape(len(lefts), len(rights))
    numbers = f"[{LEFT}'s number, {RIGHT}'s number]"
    if shape.is_single:
        numbers = f"{RIGHT if shape.num_lefts == 1 else LEFT}'s number"
    lists = [_list(LEFT, lefts), _list(RIGHT, rights)]
    lists.sort(key=len, reverse=True)  # what prompts have in common comes first
    text = "\n\n".join(lists)
    asks = (
        f"For which pairs is the answer yes? Answer with JSON that has only these: "
        f'{{"{_KEY}": [{numbers}, ..]}}, or {{"{_KEY}": []}} if there is none.'
    )
    return f"{text}\n\n{asks}", Grammar(shape=shape)


def read_pairs(text: str, grammar: Grammar) -> list[tuple[int, int]] | None:
    """The pairs in an answer, counted from 0; None where it is not what the grammar allows."""
    assert grammar.shape is not None
    try:
        found: list[tuple[int, int]] = grammar.shape.read(json.loads(unfenced(text)), "")
    except (ValueError, Misfit, RecursionError):
        return None
    return found


def side_text(values: Sequence[Any]) -> str:
    """The values of one row of a side on one line."""
    texts = [text_of(value) for value in values]
    if len(texts) == 1 and "\n" not in texts[0]:
        return texts[0]
    return json.dumps(texts[0] if len(texts) == 1 else texts, ensure_ascii=False)


def _question(binding: BoundTemplate, lefts: Sequence[int], rights: Sequence[int]) -> str:
    """The template with the names of the sides in place of the values."""
    names = {}
    for side, slots in ((LEFT, lefts), (RIGHT, rights)):
        for number, slot in enumerate(slots, 1):
            names[slot] = f"[{side}]" if len(slots) == 1 else f"[{side}, value {number}]"
    literals = binding.template.literals
    texts = [literals[0]]
    for slot, literal in zip(binding.slots, literals[1:], strict=True):
        texts += [names[slot], literal]
    return "".join(texts)


def _list(name: str, rows: Sequence[str]) -> str:
    lines = [f"{number}. {row}" for number, row in enumerate(rows, 1)]
    return "\n".join([f"{name}:", *lines])
