"""Types that hold others: STRUCT, LIST, ARRAY."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from relserve.call.loops import loop_start
from relserve.call.schema.shape import MAX_ITEMS, JsonSchema, Misfit, SchemaShape, literal, misfit

NULL_SHARE = 0.125  # of sampled fields
LONGEST_LOOP, LEAST_LOOPED = 4, MAX_ITEMS // 2  # items of one round, and that repeat the round before


@dataclass(frozen=True)
class ListShape:
    """LIST, or ARRAY of a fixed `size`."""

    item: SchemaShape
    size: int | None = None

    @property
    def words(self) -> str:
        return f"[{self.item.words}, ..]"

    @property
    def max_chars(self) -> int:
        return 2 + (self.size or MAX_ITEMS) * (self.item.max_chars + 2)

    @property
    def longest(self) -> str | None:
        item = self.item.longest
        return None if self.size is None or item is None else f"[{', '.join([item] * self.size)}]"

    def regex(self) -> str:
        item = self.item.regex()
        if self.size is None:
            return rf"\[({item}(, {item}){{0,{MAX_ITEMS}}})?\]"
        return rf"\[{item}(, {item}){{{self.size - 1}}}\]"

    def json_schema(self) -> JsonSchema:
        items = {"type": "array", "items": self.item.json_schema()}
        if self.size is None:
            return {**items, "maxItems": MAX_ITEMS + 1}
        return {**items, "minItems": self.size, "maxItems": self.size}

    def read(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise misfit(value, where, "a list")
        if self.size is not None and len(value) != self.size:
            raise Misfit(f"{where or 'it'} has {len(value)} items, not {self.size}")
        if self.size is None and len(value) > MAX_ITEMS:
            # Small models write the same items on and on, and only the grammar's bound ends their list.
            value = value[: loop_start(value, LONGEST_LOOP, LEAST_LOOPED)]
        if self.size is None and len(value) > MAX_ITEMS:
            raise Misfit(
                f"{where or 'it'} has more than {MAX_ITEMS} items, the most that llm_extract() reads"
            )
        return [None if v is None else self.item.read(v, f"{where}[{i}]") for i, v in enumerate(value)]

    def sample(self, random: Random) -> list[Any]:
        num_items = random.randrange(4) if self.size is None else self.size
        return [self.item.sample(random) for _ in range(num_items)]


@dataclass(frozen=True)
class StructShape:
    """STRUCT; every field may be null."""

    fields: tuple[tuple[str, SchemaShape], ...]

    @property
    def words(self) -> str:
        return "{" + ", ".join(f'"{name}": {shape.words}' for name, shape in self.fields) + "}"

    @property
    def max_chars(self) -> int:
        return 2 + sum(len(name) + 6 + shape.max_chars for name, shape in self.fields)

    @property
    def longest(self) -> str | None:
        values = [(name, shape.longest) for name, shape in self.fields]
        if any(value is None for _, value in values):
            return None
        fields = (f"{json.dumps(name, ensure_ascii=False)}: {value}" for name, value in values)
        return f"{{{', '.join(fields)}}}"

    def regex(self) -> str:
        fields = (f"{literal(name)}: (null|{shape.regex()})" for name, shape in self.fields)
        return rf"\{{{', '.join(fields)}\}}"

    def json_schema(self) -> JsonSchema:
        return {
            "type": "object",
            "properties": {name: nullable(shape) for name, shape in self.fields},
            "required": [name for name, _ in self.fields],
            "additionalProperties": False,
        }

    def read(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise misfit(value, where, "a JSON object")
        found = {}
        for name, shape in self.fields:
            inner = f"{where}.{name}" if where else name
            if name not in value:
                raise Misfit(f"{inner} is missing; it has to be there, if only as null")
            found[name] = None if value[name] is None else shape.read(value[name], inner)
        return found

    def sample(self, random: Random) -> dict[str, Any]:
        return {
            name: None if random.random() < NULL_SHARE else shape.sample(random)
            for name, shape in self.fields
        }


@dataclass(frozen=True)
class NullableShape:
    """A type that stands alone, where null says that the text does not tell it."""

    inner: SchemaShape

    @property
    def words(self) -> str:
        return self.inner.words

    @property
    def max_chars(self) -> int:
        return max(4, self.inner.max_chars)

    @property
    def longest(self) -> str | None:
        return self.inner.longest

    def regex(self) -> str:
        return f"(null|{self.inner.regex()})"

    def json_schema(self) -> JsonSchema:
        return nullable(self.inner)

    def read(self, value: Any, where: str) -> Any:
        return None if value is None else self.inner.read(value, where)

    def sample(self, random: Random) -> Any:
        return None if random.random() < NULL_SHARE else self.inner.sample(random)


def nullable(shape: SchemaShape) -> JsonSchema:
    """The schema of a type or null."""
    return {"anyOf": [shape.json_schema(), {"type": "null"}]}
