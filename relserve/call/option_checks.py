"""Checks of single options of the llm functions, by the options' names; see `OptionSpec`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from relserve.call.checks import is_field_name, plain_name, text, texts, whole
from relserve.call.ebnf import EbnfError, read_ebnf
from relserve.call.grammar_size import MAX_CHARS, check_choices, check_schema
from relserve.call.questions import MOST_LEVELS, TypedQuestion, read_questions
from relserve.call.schema import SCHEMA_EXAMPLE, schema_text_of, shape_of
from relserve.call.thinking import TOKENS_OF
from relserve.errors import OptionError


def choices(name: str, value: Any) -> tuple[str, ...]:
    """Choices as a list, or as an object of choices with their descriptions."""
    return _visible_texts(name, list(value) if isinstance(value, Mapping) else value)


def levels(name: str, value: Any) -> tuple[str, ...]:
    """Names of scores, from low to high."""
    found = _visible_texts(name, value)
    if not 2 <= len(found) <= MOST_LEVELS:
        raise OptionError(f"{name} must be 2 to {MOST_LEVELS} texts from low to high, not {len(found)}")
    return found


def questions(name: str, value: Any) -> tuple[TypedQuestion, ...]:
    """Typed questions whose ids can be fields of one STRUCT."""
    found = read_questions(value)
    seen: dict[str, str] = {}
    for key in (each.key for each in found):
        if not is_field_name(key):
            raise OptionError(f"{name} holds {key!r}, which is no name in SQL; rename it")
        if (other := seen.setdefault(key.lower(), key)) != key:
            raise OptionError(f"{name} holds {other!r} and {key!r}, which are one name in SQL; rename one")
    return found


def calibration(name: str, value: Any) -> str | tuple[tuple[str, str], ...]:
    """The name of a calibration, or an object of labels with the name of each one's own, perhaps as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise OptionError(f'{name} is no JSON ({error}); write it like {{"label": "name"}}') from None
    if not isinstance(value, Mapping):
        return plain_name(name, value)
    return tuple((label, plain_name(f"{name} of {label!r}", each)) for label, each in value.items())


def thinking(name: str, value: Any) -> int:
    """The most tokens of thoughts."""
    if isinstance(value, str) and value in TOKENS_OF:
        return TOKENS_OF[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OptionError(f"{name} must be 'off', 'low', 'high' or a number of tokens, not {value!r}")
    return whole(0, 1_000_000)(name, value)


def grammar(name: str, value: Any) -> str:
    """Rules in EBNF that every engine can read."""
    rules = text(name, value)
    if len(rules) > MAX_CHARS:
        raise OptionError(f"{name} has {len(rules):,} characters; the most is {MAX_CHARS:,}")
    try:
        read_ebnf(rules)
    except EbnfError as error:
        raise OptionError(f"{name}: {error}") from None
    return rules


def schema(name: str, value: Any) -> str:
    """A schema as JSON text."""
    if not isinstance(value, (str, dict, list)) or not value:
        raise OptionError(f"{name} must be text like {SCHEMA_EXAMPLE}, not {value!r}")
    found = schema_text_of(value)
    check_schema(name, shape_of(found))
    return found


def _visible_texts(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts of which something is seen: white space around an answer does not count."""
    if isinstance(value, str):  # as one choice, it would be the answer of every row
        example = [each.strip() for each in value.split(",") if each.strip()] or ["yes", "no"]
        raise OptionError(
            f"{name} must be a list of texts, e.g. {example[:3]!r}, not the text {value[:80]!r}"
        )
    values = texts(name, value)
    for v in values:
        if not v.strip():
            raise OptionError(f"{name} holds {v!r}; each must be a text that is not empty")
    check_choices(name, values)
    return values
