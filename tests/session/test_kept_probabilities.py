"""Probabilities in the answer cache: kept as they were told, and of use under another threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import Options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.session.session import Session

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
            cache.flush()
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


@pytest.mark.parametrize(("function", "options"), [("llm_classify", {}), ("llm_probs", {"read": "exact"})])
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
