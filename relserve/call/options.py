"""The named options of the llm functions: declared once, checked at bind time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, NamedTuple, cast, get_args

from relserve.call.answer_types import (
    SCORE_STEP,
    AnswerType,
    ChoiceAnswer,
    Extract,
    Grammar,
    Number,
    Text,
    YesNo,
)
from relserve.call.checks import number, text, texts, whole
from relserve.call.decisions import Distribution, Labelling, Probability, Read, check_number
from relserve.call.durations import seconds_of
from relserve.call.ebnf import EbnfError, read_ebnf
from relserve.call.grammar_size import MAX_CHARS, check_choices, check_schema
from relserve.call.schema import SCHEMA_EXAMPLE, number_of, schema_text_of, shape_of
from relserve.call.slo import EXAMPLE as SLO_EXAMPLE
from relserve.call.slo import Slo, slo_of
from relserve.call.thinking import HIGH, LOW, TOKENS_OF
from relserve.call.turns import SHOWN, CallExample, examples_of
from relserve.errors import OptionError


@dataclass(frozen=True)
class Options:
    """What a call asked for, checked. Unset options hold their default."""

    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    system: str | None = None
    model: str | None = None
    on_error: str = "null"
    choices: tuple[str, ...] = ()
    lo: float | None = None
    hi: float | None = None
    schema: str = ""
    min_confidence: float | None = None
    max_chars: int = 8000
    field_order: str = "given"
    thinking: int = 0  # most tokens of thoughts before an answer
    grammar: str = ""
    deadline: float | None = None  # seconds
    slo: Slo | None = None
    examples: tuple[CallExample, ...] = ()
    read: Read = "label"
    threshold: float = 0.5

    @property
    def score_bounds(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return 0.0 if self.lo is None else self.lo, 10.0 if self.hi is None else self.hi


class OptionSpec(NamedTuple):
    """One option: its SQL type, what it does, and the check that turns the SQL value into ours."""

    sql_type: str
    help: str
    check: Callable[[str, Any], Any]


class FunctionSpec(NamedTuple):
    """One llm function.

    Attributes:
        options, required: names of `OPTIONS`.
        answer_type: how the type of its answers follows from its options.
        aggregate: it answers about the values of a group, not of a row.
        schema: the one type of its answers as a schema of llm_extract, "" for none.
        template: its own one, with `{}` for each value, where callers give values alone; "" where they give
            the template, too.
    """

    options: tuple[str, ...]
    required: tuple[str, ...]
    answer_type: Callable[[Options], AnswerType]
    aggregate: bool = False
    schema: str = ""
    template: str = ""


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


def _on_error(name: str, value: Any) -> str:
    if value not in ("null", "raise"):
        raise OptionError(f"{name} must be 'null' (a failed row is NULL) or 'raise', not {value!r}")
    return str(value)


def _read(name: str, value: Any) -> Read:
    for known in get_args(Read):
        if value == known:
            return cast(Read, known)
    raise OptionError(f"{name} must be 'label' (one token a row) or 'exact' (all spellings), not {value!r}")


def _field_order(name: str, value: Any) -> str:
    if value not in ("given", "free"):
        raise OptionError(f"{name} must be 'given' (a row's fields in their order) or 'free', not {value!r}")
    return str(value)


def _thinking(name: str, value: Any) -> int:
    """The most tokens of thoughts."""
    if isinstance(value, str) and value in TOKENS_OF:
        return TOKENS_OF[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OptionError(f"{name} must be 'off', 'low', 'high' or a number of tokens, not {value!r}")
    return whole(0, 1_000_000)(name, value)


def _grammar(name: str, value: Any) -> str:
    """Rules in EBNF that every engine can read."""
    rules = text(name, value)
    if len(rules) > MAX_CHARS:
        raise OptionError(f"{name} has {len(rules):,} characters; the most is {MAX_CHARS:,}")
    try:
        read_ebnf(rules)
    except EbnfError as error:
        raise OptionError(f"{name}: {error}") from None
    return rules


def _schema(name: str, value: Any) -> str:
    if not isinstance(value, (str, dict, list)) or not value:
        raise OptionError(f"{name} must be text like {_example(name)}, not {value!r}")
    text = schema_text_of(value)
    check_schema(name, shape_of(text))
    return text


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
    "on_error": OptionSpec("VARCHAR", "'null' (default) or 'raise'", _on_error),
    "choices": OptionSpec("VARCHAR[]", "the only answers allowed", _visible_texts),
    "grammar": OptionSpec("VARCHAR", "rules that an answer keeps to, in EBNF", _grammar),
    "lo": OptionSpec("DOUBLE", "lowest score (0), or least number", number(-1e9, 1e9)),
    "hi": OptionSpec("DOUBLE", "highest score (10), or greatest number", number(-1e9, 1e9)),
    "schema": OptionSpec("VARCHAR", "fields to find and their types, as JSON text", _schema),
    "min_confidence": OptionSpec("DOUBLE", "answers less probable than this are NULL", number(0, 1)),
    "max_chars": OptionSpec("BIGINT", "most characters of values in one prompt (8000)", whole(1, 10**9)),
    "field_order": OptionSpec(
        "VARCHAR", "of a whole row in one placeholder: 'given' (default) or 'free'", _field_order
    ),
    "thinking": OptionSpec(
        "ANY",
        f"before an answer: 'off' (default), 'low' ({LOW} tokens), 'high' ({HIGH}) or a number",
        _thinking,
    ),
    "deadline": OptionSpec(
        "ANY",
        "rows without an answer so long after the call began are NULL: seconds, or an interval",
        seconds_of,
    ),
    "slo": OptionSpec("ANY", f"limits of each row's tokens: a class by name, or {SLO_EXAMPLE}", slo_of),
    "read": OptionSpec("VARCHAR", "of probabilities: 'label' (default) or 'exact', all spellings", _read),
    "threshold": OptionSpec("DOUBLE", "least probability of a label that applies (0.5)", number(0, 1)),
    "examples": OptionSpec("ANY", f"rows with their answers, told before each row: {SHOWN}", examples_of),
}

_COMMON = (
    "max_tokens", "temperature", "top_p", "seed", "stop", "system", "model", "on_error", "thinking",
    "deadline", "slo", "field_order", "examples",
)  # fmt: skip
_GROUPS = tuple(name for name in _COMMON if name not in ("field_order", "examples"))
_TYPED = tuple(name for name in _COMMON if name != "stop")
# Of what is not written there is no sampling, and no thoughts come before it.
_WEIGHED = ("system", "model", "on_error", "deadline", "slo", "field_order", "examples", "read")


def _held_to(options: Options) -> Grammar | None:
    return Grammar(ebnf=options.grammar) if options.grammar else None


def _single(kind: str) -> FunctionSpec:
    """A function whose answers are of one type of DuckDB, or NULL where the model says null."""
    schema = f'"{kind}"'
    return FunctionSpec(_TYPED, (), lambda o: Extract(shape_of(schema)), schema=schema)


def _single_number(kind: str) -> FunctionSpec:
    """Likewise of a type of numbers, from lo to hi."""
    answer_type = lambda o: Extract(number_of(kind.lower(), o.lo, o.hi))  # noqa: E731
    return _single(kind)._replace(options=(*_TYPED, "lo", "hi"), answer_type=answer_type)


FUNCTIONS: Mapping[str, FunctionSpec] = {
    "llm": FunctionSpec(
        (*_COMMON, "choices", "grammar", "min_confidence"),
        (),
        lambda o: ChoiceAnswer(o.choices) if o.choices else Text(grammar=_held_to(o)),
    ),
    "llm_filter": FunctionSpec((*_TYPED, "min_confidence"), (), lambda o: YesNo()),
    "llm_classify": FunctionSpec(
        (*_TYPED, "choices", "min_confidence"), ("choices",), lambda o: ChoiceAnswer(o.choices)
    ),
    "llm_score": FunctionSpec((*_TYPED, "lo", "hi"), (), lambda o: Number(*o.score_bounds)),
    "llm_extract": FunctionSpec((*_TYPED, "schema"), ("schema",), lambda o: Extract(shape_of(o.schema))),
    "llm_agg": FunctionSpec((*_GROUPS, "max_chars"), (), lambda o: Text(), aggregate=True),
    "llm_int": _single_number("BIGINT"),
    "llm_double": _single_number("DOUBLE"),
    "llm_bool": _single("BOOLEAN"),
    "llm_date": _single("DATE"),
    "llm_prob": FunctionSpec(_WEIGHED, (), lambda o: Probability()),
    "llm_probs": FunctionSpec(
        (*_WEIGHED, "choices"), ("choices",), lambda o: Distribution(o.choices),
        schema='"MAP(VARCHAR, DOUBLE)"',
    ),
    "llm_tags": FunctionSpec(
        (*(name for name in _WEIGHED if name != "examples"), "choices", "threshold"), ("choices",),
        lambda o: Labelling(o.choices, o.threshold), schema='["VARCHAR"]',
    ),
}

DEFAULTS: Mapping[str, Any] = {f.name: f.default for f in fields(Options)}
ROW_FUNCTIONS = tuple(name for name, spec in FUNCTIONS.items() if not spec.aggregate)


def parse_options(function: str, given: Mapping[str, Any]) -> Options:
    """The checked options of a call; None counts as not given.

    Args:
        function: a name of `FUNCTIONS`.
        given: option names and values as they came from SQL, JSON or Python.

    Raises:
        OptionError: unknown, missing, of the wrong type, or out of range.
    """
    spec = FUNCTIONS[function]
    for name in given:
        if name not in spec.options:
            near = get_close_matches(name, spec.options, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise OptionError(
                f"{function}() has no option {name!r}.{meant} It takes: {', '.join(spec.options)}"
            )
    set_ones = {k: v for k, v in given.items() if v is not None}
    for name in spec.required:
        if name not in set_ones:
            raise OptionError(f"{function}() needs {name} := {_example(name)}")
    options = Options(**{name: OPTIONS[name].check(name, value) for name, value in set_ones.items()})
    if options.min_confidence is not None and function == "llm" and not options.choices:
        raise OptionError("min_confidence needs choices := [..]: free text has no one probability to compare")
    if options.grammar and options.choices:
        raise OptionError("choices and grammar both say what an answer may be; leave one out")
    _check_bounds(function, options)
    if isinstance(kind := spec.answer_type(options), (Distribution, Labelling)):
        check_number(function, options.choices, 1 if isinstance(kind, Labelling) else 2)
    return options


def _check_bounds(function: str, options: Options) -> None:
    """See that there are numbers from lo to hi."""
    lo, hi = options.score_bounds if function == "llm_score" else (options.lo, options.hi)
    if lo is not None and hi is not None:
        if lo >= hi:
            raise OptionError(f"lo must be below hi, not {lo:g} and {hi:g}")
        if function == "llm_score" and hi - lo < SCORE_STEP - 1e-9:
            raise OptionError(f"lo and hi must be at least {SCORE_STEP} apart, the step of a score")
    for name, bound in (("lo", lo), ("hi", hi)) if function == "llm_int" else ():
        if bound is not None and bound != int(bound):
            raise OptionError(f"{name} of llm_int() must be a whole number, not {bound:g}")


def _example(name: str) -> str:
    return {"choices": "['positive', 'negative']", "schema": SCHEMA_EXAMPLE}.get(name, "..")
