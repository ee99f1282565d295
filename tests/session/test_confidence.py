"""min_confidence: which answers count, and what is on record about the others."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.call.options import Options, parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineError, FailureKind, OptionError, RowError
from relserve.session.result import Result
from relserve.session.session import Session

BINDING = Template.parse("{}").bind(1)
SURE = {"clear": 0.97, "so so": 0.5312345, "even": 0.8, "never": 0.0}


def run(engine: ScriptedEngine, texts: list[str], **options: Any) -> tuple[Result, Session]:
    session = Session(lambda model: engine)
    rows = [(text,) for text in texts]
    options = {"choices": ("yes", "no"), "min_confidence": 0.8, **options}
    return session.run(RelQuery("llm_classify", BINDING, rows, Options(**options))), session


def telling() -> ScriptedEngine:
    return ScriptedEngine(lambda prompt, submission: "yes", lambda prompt: SURE[prompt.partition("\n")[2]])


def test_answers_below_it_are_null_and_on_record_with_the_number() -> None:
    result, session = run(telling(), list(SURE))
    assert result.values == ["yes", None, "yes", None]
    errors = session.history.errors()
    assert [each.failure.kind for each in errors] == [FailureKind.LOW_CONFIDENCE] * 2
    expected = "the model gave 'yes' a probability of 0.5312, min_confidence is 0.8"
    assert expected in [each.failure.message for each in errors]
    assert session.history.queries()[0].num_failed == 2


def test_it_is_asked_for_only_where_the_option_is_given() -> None:
    engine = telling()
    run(engine, ["clear"])
    run(engine, ["never"], min_confidence=None)
    assert [s.sampling.with_confidence for s in engine.submissions] == [True, False]


def test_zero_takes_every_answer() -> None:
    assert run(telling(), list(SURE), min_confidence=0.0)[0].values == ["yes"] * 4


def test_an_engine_that_tells_no_probabilities_is_an_error_not_silence() -> None:
    with pytest.raises(EngineError, match="min_confidence, but scripted tells no probabilities"):
        run(ScriptedEngine(sure=lambda prompt: None), ["clear"])


def test_low_confidence_raises_under_on_error_raise() -> None:
    with pytest.raises(RowError, match=r"probability of 0\.5312"):
        run(telling(), ["so so"], on_error="raise")


def test_an_unparsable_answer_stays_unparsable() -> None:
    result, _ = run(ScriptedEngine(lambda prompt, submission: "perhaps", lambda prompt: 0.1), ["clear"])
    assert result.answers[0].failure is not None
    assert result.answers[0].failure.kind is FailureKind.UNPARSABLE


@pytest.mark.parametrize(
    ("function", "given_options", "message"),
    [
        ("llm", {"min_confidence": 0.5}, r"min_confidence needs choices := \[\.\.\]"),
        ("llm_filter", {"min_confidence": 1.5}, "min_confidence must be from 0 to 1, not 1.5"),
        ("llm_filter", {"min_confidence": "high"}, "min_confidence must be a number"),
        ("llm_score", {"min_confidence": 0.5}, r"llm_score\(\) has no option 'min_confidence'"),
    ],
)
def test_bad_use_is_refused(function: str, given_options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_options(function, given_options)
