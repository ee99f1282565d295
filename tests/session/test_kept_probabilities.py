"""Probabilities in the answer cache: kept as they were told, and of use under another threshold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import Options, parse_options
from relserve.call.relquery import RelQuery, Submission
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, mass_by_hash
from relserve.errors import Failure, FailureKind
from relserve.session.session import Session
from tests.waiting import PATIENCE_S

Ask = Callable[..., list[Any]]


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(identity="the model")


@pytest.fixture
def ask(tmp_path: Path, engine: ScriptedEngine) -> Iterator[Ask]:
    """ask(function, **options): the values of two rows, as a new process would have them."""
    caches: list[AnswerCache] = []

    def asked(function: str, **options: Any) -> list[Any]:
        for cache in caches:
            assert cache.flush(PATIENCE_S)
        caches.append(AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail))
        binding = Template.parse("say {}").bind(1)
        relquery = RelQuery(function, binding, [("a",), ("b",)], Options(choices=("x", "y"), **options))
        return Session(lambda model: engine, cache=caches[-1]).run(relquery).values

    yield asked
    for cache in caches:
        cache.close()


def test_probabilities_are_kept_as_they_were_told(ask: Ask, engine: ScriptedEngine) -> None:
    before = ask("llm_probs")
    assert engine.num_prompts == 2
    assert ask("llm_probs") == before
    assert engine.num_prompts == 2


def test_label_masses_are_kept_with_them(ask: Ask, engine: ScriptedEngine) -> None:
    before = ask("llm_probs", label_mass=True)
    assert [json.loads(each)["label_mass"] for each in before] == [mass_by_hash(p) for p in _prompts()]
    assert ask("llm_probs", label_mass=True) == before
    assert engine.num_prompts == 2


def _prompts() -> list[str]:
    return [f"Answer with exactly one of: x, y.\nsay {text}" for text in "ab"]


@pytest.mark.parametrize(
    ("function", "options"),
    [("llm_classify", {}), ("llm_probs", {"read": "exact"}), ("llm_probs", {"label_mass": True})],
)
def test_another_way_to_ask_is_another_question(
    ask: Ask, engine: ScriptedEngine, function: str, options: dict[str, Any]
) -> None:
    ask("llm_probs")
    ask(function, **options)
    assert engine.num_prompts == 4


def test_another_threshold_asks_nothing(ask: Ask, engine: ScriptedEngine) -> None:
    assert ask("llm_tags", threshold=1.0) == ["[]", "[]"]
    assert engine.num_prompts == 4  # two labels of two rows
    assert ask("llm_tags", threshold=0.0) == ['["x", "y"]'] * 2
    assert engine.num_prompts == 4


def test_a_row_of_which_a_question_failed_is_asked_again(tmp_path: Path) -> None:
    failing = [True]

    def script(prompt: str, submission: Submission) -> str | Failure:
        return Failure(FailureKind.REFUSED, "too rude") if failing[0] and "Angry?" in prompt else "yes"

    asked = {name: {"type": "noul", "instructions": f"{name}?"} for name in ("Angry", "Late")}
    engine = ScriptedEngine(script, identity="the model")
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    options = parse_options("llm_decide", {"questions": asked})

    def values() -> list[Any]:
        relquery = RelQuery("llm_decide", Template.parse("{}").bind(1), [("a",)], options)
        found = Session(lambda model: engine, cache=cache).run(relquery).values
        assert cache.flush(PATIENCE_S)
        return [json.loads(each) for each in found]

    (first,) = values()
    assert first["Angry"] is None
    assert 0 <= first["Late"] <= 1
    failing[0] = False
    (second,) = values()
    assert second["Late"] == first["Late"]
    assert second["Angry"] is not None
    assert values() == [second]
    assert engine.num_prompts == 4
    cache.close()


def test_one_prompt_of_two_templates_is_two_questions(tmp_path: Path) -> None:
    """A decision server is told the question apart from the state, so their answers may differ."""
    engine, cache = (
        ScriptedEngine(identity="the model"),
        AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail),
    )
    for template, value in (("Is it rude? {}", "a"), ("{}", "Is it rude? a")):
        binding = Template.parse(template).bind(1)
        Session(lambda model: engine, cache=cache).run(RelQuery("llm_prob", binding, [(value,)], Options()))
        assert cache.flush(PATIENCE_S)
    cache.close()
    assert engine.num_prompts == 2


def test_a_question_of_another_name_asks_nothing(tmp_path: Path) -> None:
    engine, cache = (
        ScriptedEngine(identity="the model"),
        AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail),
    )
    binding = Template.parse("{}").bind(1)
    for name in ("late", "is_late"):
        options = parse_options(
            "llm_decide", {"questions": {name: {"type": "noul", "instructions": "Late?"}}}
        )
        Session(lambda model: engine, cache=cache).run(RelQuery("llm_decide", binding, [("a",)], options))
        assert cache.flush(PATIENCE_S)
    cache.close()
    assert engine.num_prompts == 1
