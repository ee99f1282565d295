"""The named options of the llm functions: declared once, checked at bind time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, NamedTuple

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
from relserve.call.decided import Decided
from relserve.call.decisions import (
    LABEL_MASS,
    Decision,
    Distribution,
    ExpectedLevel,
    Labelling,
    Probability,
    check_number,
)
from relserve.call.option_specs import OPTIONS
from relserve.call.option_values import Options as Options
from relserve.call.questions import EXAMPLE as QUESTIONS_EXAMPLE
from relserve.call.questions import descriptions_of
from relserve.call.schema import SCHEMA_EXAMPLE, number_of, shape_of
from relserve.call.schema.leaves import TextShape
from relserve.call.vectors import Vector
from relserve.call.verbatim import Quote
from relserve.errors import OptionError


class FunctionSpec(NamedTuple):
    """One llm function.

    Attributes:
        options, required: names of `OPTIONS`.
        answer_type: how the type of its answers follows from its options.
        aggregate: it answers about the values of a group, not of a row.
        schema: the one type of its answers as a schema of llm_extract, "" for none.
        template: its own one, with `{}` for each value, where callers give values alone; "" where they give
            the template, too.
        positional: options that may also come without their names, after the first value.
        model: that answers where a call names none; "": the connection's.
    """

    options: tuple[str, ...]
    required: tuple[str, ...]
    answer_type: Callable[[Options], AnswerType]
    aggregate: bool = False
    schema: str = ""
    template: str = ""
    positional: tuple[str, ...] = ()
    model: str = ""

    @property
    def is_json(self) -> bool:
        """Whether its answers are JSON that from_json gives their type."""
        return bool(self.schema) or not {"schema", "questions"}.isdisjoint(self.options)


CAPS = ("max_rows", "max_tokens_total", "max_cost")

_COMMON = (
    "max_tokens", "temperature", "top_p", "seed", "stop", "system", "model", "on_error", "thinking",
    "deadline", "slo", *CAPS, "field_order", "examples",
)  # fmt: skip
_GROUPS = tuple(name for name in _COMMON if name not in ("field_order", "examples"))
_TYPED = tuple(name for name in _COMMON if name != "stop")
PAIR = ("1", "2")  # which of two values comes first
WORDS = "wordllama"  # the model of llm_embed; see `relserve.machine.word_vectors`
EMBEDDING = "embedding"  # as a cascade: what is learnt from the large model's answers by vectors
# Of what is not written there is no sampling, and no thoughts come before it.
_OF_PROBABILITIES = ("read", "debias", "prior")
_WEIGHED = (
    "system", "model", "on_error", "deadline", "slo", *CAPS, "field_order", "examples", *_OF_PROBABILITIES,
)  # fmt: skip
_STATED = tuple(name for name in _WEIGHED if name != "examples")
_OF_LEVELS = _OF_PROBABILITIES
OF_CASCADES = ("cascade", "precision", "recall", "accuracy", "error", "confidence")


def _choice_of(options: Options) -> ChoiceAnswer:
    return ChoiceAnswer(options.choices, descriptions=options.descriptions)


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
        lambda o: _choice_of(o) if o.choices else Text(grammar=_held_to(o)),
    ),
    "llm_filter": FunctionSpec(
        (*_TYPED, "min_confidence", "cascade", "precision", "recall", "confidence", "join"),
        (),
        lambda o: YesNo(),
    ),
    "llm_classify": FunctionSpec(
        (*_TYPED, "choices", "min_confidence", "cascade", "accuracy", "confidence"),
        ("choices",),
        lambda o: _choice_of(o),
    ),
    "llm_score": FunctionSpec(
        (*_TYPED, "lo", "hi", "levels", *_OF_LEVELS, "cascade", "error", "accuracy", "confidence"),
        (),
        lambda o: ExpectedLevel(o.levels) if o.levels else Number(*o.score_bounds),
    ),
    "llm_extract": FunctionSpec(
        (*_TYPED, "schema", "verbatim"),
        ("schema",),
        lambda o: Extract(shape_of(o.schema), verbatim=o.verbatim),
    ),
    "llm_quote": FunctionSpec((*_TYPED, "offsets"), (), lambda o: Quote(o.offsets), schema='"VARCHAR"'),
    "llm_agg": FunctionSpec((*_GROUPS, "max_chars"), (), lambda o: Text(), aggregate=True),
    "llm_rank": FunctionSpec(
        (*(name for name in _GROUPS if name != "stop"), "k"),
        (),
        lambda o: ChoiceAnswer(PAIR),
        aggregate=True,
        schema='["VARCHAR"]',
    ),
    "llm_int": _single_number("BIGINT"),
    "llm_double": _single_number("DOUBLE"),
    "llm_bool": _single("BOOLEAN"),
    "llm_date": _single("DATE"),
    "llm_prob": FunctionSpec((*_WEIGHED, "calibration"), (), lambda o: Probability()),
    "llm_probs": FunctionSpec(
        (*_WEIGHED, "choices", "calibration", LABEL_MASS),
        ("choices",),
        lambda o: Distribution(o.choices, o.descriptions, o.label_mass),
        schema='"MAP(VARCHAR, DOUBLE)"',
    ),
    "llm_tags": FunctionSpec(
        (*_STATED, "choices", "threshold", "calibration"),
        ("choices",),
        lambda o: Labelling(o.choices, o.descriptions, o.threshold),
        schema='["VARCHAR"]',
    ),
    "llm_decide": FunctionSpec(
        ("questions", *_STATED, LABEL_MASS),
        ("questions",),
        lambda o: Decided(
            tuple(each.key for each in o.questions), questions=o.questions, label_mass=o.label_mass
        ),
        template="{}",
        positional=("questions",),
    ),
    "llm_embed": FunctionSpec(
        ("model", "on_error", "deadline", *CAPS),
        (),
        lambda o: Vector(),
        template="{}",
        model=WORDS,
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
    if spec.model:
        set_ones.setdefault("model", spec.model)
    for name in spec.required:
        if name not in set_ones:
            raise OptionError(f"{function}() needs {name} := {_example(name)}")
    options = Options(
        **{name: OPTIONS[name].check(name, value) for name, value in set_ones.items()},
        descriptions=descriptions_of(set_ones.get("choices")),
    )
    if options.min_confidence is not None and function == "llm" and not options.choices:
        raise OptionError("min_confidence needs choices := [..]: free text has no one probability to compare")
    if options.grammar and options.choices:
        raise OptionError("choices and grammar both say what an answer may be; leave one out")
    if options.verbatim and TextShape().regex() not in shape_of(options.schema).regex():
        raise OptionError("verbatim holds texts to the row's values, and the schema has none; leave it out")
    _check_bounds(function, options)
    _check_cascade(function, options, set_ones)
    if function == "llm_score":
        _check_levels(options, set_ones)
    _check_calibration(function, options)
    if isinstance(kind := spec.answer_type(options), (Distribution, Labelling)):
        check_number(function, options.choices, 1 if isinstance(kind, Labelling) else 2)
    if options.label_mass and isinstance(kind, Decision) and LABEL_MASS in map(str.lower, kind.choices):
        raise OptionError(
            f"label_mass is told under the name {LABEL_MASS!r}, which {function}() has already; rename that"
        )
    if isinstance(kind, Decision) and options.debias > kind.num_weighed:
        raise OptionError(
            f"debias must be from 1 to {kind.num_weighed}, the number of answers that a prompt of "
            f"{function}() weighs, not {options.debias}"
        )
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


def _check_cascade(function: str, options: Options, given: Iterable[str]) -> None:
    """See that a cascade's targets have a cascade, and that it has two models and knows what is near."""
    targets = [name for name in given if name in OF_CASCADES and name != "cascade"]
    if options.join != "pairs" and options.min_confidence is not None:
        raise OptionError("min_confidence is of the answer about one pair; leave it or join out")
    if options.cascade is None:
        if targets and options.join == "pairs":
            raise OptionError(f"{targets[0]} needs cascade := 'MODEL', a small model that decides most rows")
        return
    if options.cascade == options.model:
        raise OptionError(f"cascade and model are both {options.model!r}; leave cascade out, or name another")
    if function == "llm_score" and options.error is None:
        raise OptionError("cascade needs error := 1, how far a score may be from the large model's")
    if options.min_confidence is not None:
        raise OptionError("min_confidence is of one model's answer, and a cascade has two; leave one out")


def _check_calibration(function: str, options: Options) -> None:
    """See that each label of llm_tags has a calibration of its own, and anything else one."""
    named, is_tags = options.calibration, function == "llm_tags"
    if named is None:
        return
    if isinstance(named, str) and is_tags:
        raise OptionError(
            "each label of llm_tags() is a question of its own, so calibration maps labels to names: "
            f"calibration := {{{options.choices[0]!r}: {named!r}}}"
        )
    if not isinstance(named, str):
        if not is_tags:
            raise OptionError(f"calibration of {function}() must be one name, not {dict(named)}")
        if unknown := [label for label, _ in named if label not in options.choices]:
            raise OptionError(
                f"calibration names the label {unknown[0]!r}, which is none of the choices "
                f"{list(options.choices)}"
            )


def _check_levels(options: Options, given: Iterable[str]) -> None:
    """See that nothing is asked of levels that is for numbers, nor of numbers that is for levels."""
    for name in given:
        if name in _OF_LEVELS and not options.levels:
            raise OptionError(f"{name} needs levels := [..]: other scores are written, not weighed")
        if options.levels and name not in ("levels", *_WEIGHED, *OF_CASCADES):
            raise OptionError(f"levels are weighed, not written, so {name} has no meaning; leave it out")


def _example(name: str) -> str:
    found = {
        "choices": "['positive', 'negative']", "schema": SCHEMA_EXAMPLE, "questions": f"'{QUESTIONS_EXAMPLE}'"
    }  # fmt: skip
    return found.get(name, "..")
