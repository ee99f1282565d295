"""The named options of the llm functions: the type of each, what it does, and its check."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from relserve.call.checks import is_field_name, number, one_of, plain_name, text, texts, truth, whole
from relserve.call.decisions import MOST_CHOICES, PriorOf, Read
from relserve.call.durations import seconds_of
from relserve.call.ebnf import EbnfError, read_ebnf
from relserve.call.grammar_repeats import counts_of_ebnf, why_refused
from relserve.call.grammar_size import MAX_CHARS, check_choices, check_schema
from relserve.call.option_values import JoinBy
from relserve.call.questions import EXAMPLE as QUESTIONS_EXAMPLE
from relserve.call.questions import MOST_LEVELS, TypedQuestion, read_questions
from relserve.call.schema import SCHEMA_EXAMPLE, schema_text_of, shape_of
from relserve.call.slo import EXAMPLE as SLO_EXAMPLE
from relserve.call.slo import slo_of
from relserve.call.thinking import HIGH, LOW, TOKENS_OF
from relserve.call.turns import SHOWN, examples_of
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
    if why := why_refused(name, counts_of_ebnf(rules)):
        raise OptionError(why)
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


class OptionSpec(NamedTuple):
    """One option: its SQL type, what it does, and the check that turns the SQL value into ours."""

    sql_type: str
    help: str
    check: Callable[[str, Any], Any]


OPTIONS: Mapping[str, OptionSpec] = {
    "max_tokens": OptionSpec(
        "BIGINT", "most tokens in an answer (256 for text, else what the type needs)", whole(1, 1_000_000)
    ),
    "temperature": OptionSpec("DOUBLE", "0 is greedy and repeatable (default)", number(0, 2)),
    "top_p": OptionSpec("DOUBLE", "nucleus sampling, 1 is off (default)", number(1e-6, 1)),
    "seed": OptionSpec("BIGINT", "seed of the sampler when temperature > 0", whole(0, 2**63 - 1)),
    "stop": OptionSpec("VARCHAR[]", "texts that end an answer", texts),
    "system": OptionSpec("VARCHAR", "system message of every prompt", text),
    "model": OptionSpec("VARCHAR", "'tiny', a local path, a hub id, or a server's URL", text),
    "on_error": OptionSpec(
        "VARCHAR",
        "'null' (default) or 'raise'",
        one_of(("null", "raise"), "'null' (a failed row is NULL) or 'raise'"),
    ),
    "choices": OptionSpec("VARCHAR[]", "the only answers allowed: a list, or a map to descriptions", choices),
    "grammar": OptionSpec("VARCHAR", "rules that an answer keeps to, in EBNF", grammar),
    "lo": OptionSpec("DOUBLE", "lowest score (0), or least number", number(-1e9, 1e9)),
    "hi": OptionSpec("DOUBLE", "highest score (10), or greatest number", number(-1e9, 1e9)),
    "schema": OptionSpec("VARCHAR", "fields to find and their types, as JSON text", schema),
    "verbatim": OptionSpec("BOOLEAN", "texts have to stand in the row's values, word for word", truth),
    "offsets": OptionSpec("BOOLEAN", "tell where in the text the answer stands, too", truth),
    "min_confidence": OptionSpec("DOUBLE", "answers less probable than this are NULL", number(0, 1)),
    "max_chars": OptionSpec("BIGINT", "most characters of values in one prompt (8000)", whole(1, 10**9)),
    "field_order": OptionSpec(
        "VARCHAR",
        "of a whole row in one placeholder: 'given' (default) or 'free'",
        one_of(("given", "free"), "'given' (a row's fields in their order) or 'free'"),
    ),
    "thinking": OptionSpec(
        "ANY",
        f"before an answer: 'off' (default), 'low' ({LOW} tokens), 'high' ({HIGH}) or a number",
        thinking,
    ),
    "deadline": OptionSpec(
        "ANY",
        "rows without an answer so long after the call began are NULL: seconds, or an interval",
        seconds_of,
    ),
    "slo": OptionSpec("ANY", f"limits of each row's tokens: a class by name, or {SLO_EXAMPLE}", slo_of),
    "max_rows": OptionSpec(
        "BIGINT", "most rows that the call asks about; equal prompts count once", whole(0, 2**62)
    ),
    "max_tokens_total": OptionSpec("BIGINT", "most tokens of all its prompts and answers", whole(0, 2**62)),
    "max_cost": OptionSpec("DOUBLE", "most US dollars that the call may cost", number(0, 1e9)),
    "read": OptionSpec(
        "VARCHAR",
        "of probabilities: 'label' (default) or 'exact', all spellings",
        one_of(get_args(Read), "'label' (one token a row) or 'exact' (all spellings)"),
    ),
    "threshold": OptionSpec("DOUBLE", "least probability of a label that applies (0.5)", number(0, 1)),
    "levels": OptionSpec("VARCHAR[]", "names of the scores 0, 1, .. from low to high", levels),
    "questions": OptionSpec("ANY", f"typed questions about each row: {QUESTIONS_EXAMPLE}", questions),
    "calibration": OptionSpec(
        "ANY",
        "name of a calibration that corrects probabilities; of llm_tags, a map from labels to names",
        calibration,
    ),
    "debias": OptionSpec(
        "BIGINT", "orders of the choices that a row is read in and averaged over (1)", whole(1, MOST_CHOICES)
    ),
    "prior": OptionSpec(
        "VARCHAR",
        "taken out: 'none' (default) or 'empty', that of empty inputs",
        one_of(get_args(PriorOf), "'none' or 'empty' (that of empty inputs is taken out)"),
    ),
    "label_mass": OptionSpec("BOOLEAN", "tell how probable any of the labels was, too", truth),
    "examples": OptionSpec("ANY", f"rows with their answers, told before each row: {SHOWN}", examples_of),
    "cascade": OptionSpec("VARCHAR", "a small model or 'embedding', to decide rows that it is sure of", text),
    "precision": OptionSpec("DOUBLE", "of the rows that a cascade keeps (0.95)", number(1e-6, 1)),
    "recall": OptionSpec("DOUBLE", "of the rows that a cascade should keep (0.95)", number(1e-6, 1)),
    "accuracy": OptionSpec("DOUBLE", "of the labels or scores that a cascade gives (0.95)", number(1e-6, 1)),
    "error": OptionSpec("DOUBLE", "how far a cascade's score may be from the large model's", number(0, 1e9)),
    "join": OptionSpec(
        "VARCHAR",
        "how a condition of two tables is asked: 'pairs' (default), 'auto', ..",
        one_of(get_args(JoinBy), f"one of {', '.join(map(repr, get_args(JoinBy)))}"),
    ),
    "confidence": OptionSpec("DOUBLE", "how probably a cascade reaches it (0.95)", number(0.5, 0.9999)),
    "k": OptionSpec("BIGINT", "how many values to give, from the first on (all)", whole(1, 10**9)),
}
