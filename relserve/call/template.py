"""Prompt templates: `{}` and `{name}` stand for a row's values, `{{` and `}}` for braces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from relserve.errors import TemplateError, UsageError


class Field(NamedTuple):
    """A placeholder: its name ("" for `{}`) and where its `{` stands in the template."""

    name: str
    position: int


@dataclass(frozen=True)
class Template:
    """A parsed template: `literals[0] field[0] literals[1] field[1] .. literals[-1]`.

    Placeholders are either all `{}`, filled in order, or all `{name}`. A name may hold any character but
    braces (`{beer/name}`), and may come more than once.
    """

    text: str
    literals: tuple[str, ...] = field(repr=False)
    fields: tuple[Field, ...] = field(repr=False)

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> Template:
        """The template that `text` spells.

        Raises:
            TemplateError: a brace without its partner, a nested brace, or `{}` mixed with `{name}`.
        """
        return _parse(text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The distinct names in order of first appearance; empty for `{}` templates."""
        return tuple(dict.fromkeys(f.name for f in self.fields if f.name))

    @cached_property
    def num_inputs(self) -> int:
        """How many values a row must give."""
        return len(self.names) or len(self.fields)

    def bind(self, num_args: int, row_fields: Sequence[str] | None = None) -> BoundTemplate:
        """Say which value each placeholder takes.

        Args:
            num_args: how many values the call gives after the template.
            row_fields: when the only value is a whole row (a STRUCT), the names of its fields.

        Raises:
            TemplateError: a placeholder without a value, or a value without a placeholder.
        """
        if row_fields is not None and self.names:
            return self._bind_row(row_fields)
        if num_args < self.num_inputs:
            missing = self._field_of_input(num_args)
            shown = "{" + missing.name + "}"
            raise TemplateError(
                f"placeholder {shown} has no argument: the template needs "
                f"{_count(self.num_inputs, 'value')}, the call gives {num_args}",
                self.text, missing.position,
                "Add the missing argument after the template, or write {{ and }} for literal braces.",
            )  # fmt: skip
        if num_args > self.num_inputs and not self.fields:
            raise TemplateError(
                "argument 1 has no placeholder: the template, which comes before it, has none", "", 0,
                "Put {} where the value belongs. If template and text are swapped, the template comes "
                "first: llm('Sum up: {}', column).",
            )  # fmt: skip
        if num_args > self.num_inputs:
            raise TemplateError(
                f"argument {self.num_inputs + 1} has no placeholder: the template takes "
                f"{_count(self.num_inputs, 'value')}, the call gives {num_args}",
                self.text, len(self.text),
                "Put {} where the value belongs, or drop the argument.",
            )  # fmt: skip
        if not self.names:
            return BoundTemplate(self, tuple(range(len(self.fields))))
        place = {name: i for i, name in enumerate(self.names)}
        return BoundTemplate(self, tuple(place[f.name] for f in self.fields))

    def _bind_row(self, row_fields: Sequence[str]) -> BoundTemplate:
        exact = {name: i for i, name in enumerate(row_fields)}
        folded = {name.lower(): i for i, name in reversed(list(enumerate(row_fields)))}
        slots = []
        for f in self.fields:
            slot = exact.get(f.name, folded.get(f.name.lower()))
            if slot is None:
                raise TemplateError(
                    f"placeholder {{{f.name}}} is not a field of the row", self.text, f.position,
                    f"The row has: {', '.join(row_fields)}.",
                )  # fmt: skip
            slots.append(slot)
        return BoundTemplate(self, tuple(slots))

    def _field_of_input(self, i: int) -> Field:
        if not self.names:
            return self.fields[i]
        return next(f for f in self.fields if f.name == self.names[i])


@dataclass(frozen=True)
class BoundTemplate:
    """A template whose placeholders know their values: placeholder i takes value `slots[i]` of a row."""

    template: Template
    slots: tuple[int, ...]

    @cached_property
    def _format(self) -> str:
        return "%s".join(text.replace("%", "%%") for text in self.template.literals)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The distinct slots in use: a NULL in one of them makes the answer NULL without a call."""
        return tuple(dict.fromkeys(self.slots))

    def render(self, values: Sequence[Any]) -> str | None:
        """The prompt of one row, or None if a value in use is NULL."""
        texts = []
        for slot in self.slots:
            value = values[slot]
            if value is None:
                return None
            texts.append(value if type(value) is str else text_of(value))
        return self._format % tuple(texts)


def has_placeholders(text: Any) -> bool:
    """Whether something is the text of a template with placeholders."""
    try:
        return isinstance(text, str) and bool(Template.parse(text).fields)
    except TemplateError:
        return False


def swapped(function: str) -> TemplateError:
    """The error of a call whose template stands where a value does; it shows neither."""
    return TemplateError(
        f"{function}() has a text before its template", "", 0,
        f"The template comes first: {function}('Sum up: {{}}', column).",
    )  # fmt: skip


def text_of(value: Any) -> str:
    """How a SQL value reads in a prompt: as DuckDB prints it, and nested values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _parse(text: str) -> Template:
    if not isinstance(text, str):
        raise UsageError(f"the template must be text, not {type(text).__name__}")
    literals, fields, literal = [], [], []
    i = 0
    while i < len(text):
        char = text[i]
        if char in "{}" and text[i : i + 2] == char * 2:
            literal.append(char)
            i += 2
        elif char == "{":
            end = _closing(text, i)
            fields.append(Field(text[i + 1 : end].strip(), i))
            literals.append("".join(literal))
            literal = []
            i = end + 1
        elif char == "}":
            raise TemplateError("'}' without '{'", text, i, "Write }} for a literal brace.")
        else:
            literal.append(char)
            i += 1
    literals.append("".join(literal))
    _refuse_mixture(text, fields)
    return Template(text, tuple(literals), tuple(fields))


def _closing(text: str, start: int) -> int:
    """Where the '}' that closes the '{' at `start` stands."""
    hint = "Write {{ for a literal brace."
    end = text.find("}", start)
    if end < 0:
        raise TemplateError("'{' is never closed", text, start, hint)
    inner = text.find("{", start + 1, end)
    if inner >= 0:
        raise TemplateError("'{' inside a placeholder", text, inner, hint)
    return end


def _refuse_mixture(text: str, fields: list[Field]) -> None:
    if not fields or all(f.name for f in fields) or not any(f.name for f in fields):
        return
    odd = next(f for f in fields if bool(f.name) != bool(fields[0].name))
    raise TemplateError(
        "{} and {name} placeholders are mixed", text, odd.position, "Use one kind throughout the template."
    )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
