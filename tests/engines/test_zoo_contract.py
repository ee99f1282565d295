"""The contract of engines on small made-up models of other architectures, vocabularies and templates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import test_contract
from asking import ask

from relserve.call.answer_types import Grammar
from relserve.engines.local.engine import LocalEngine
from tests.waiting import wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]
EMPTY = "an empty prompt is refused where no chat template makes something of it"
GAPS = {("test_odd_prompts_are_answered", "opt"): EMPTY}
# On models that say anything, the most probable choice need not begin with the most probable token.
OTHERWISE_HERE = "test_the_reply_tells_its_probability_when_asked"
# What one engine does with any model; test_contract has them on the suite's own engine.
OF_NO_MODEL = {
    "test_nothing_asked_nothing_answered", "test_duplicates_are_all_answered",
    "test_rows_of_one_prompt_have_grammars_of_their_own", "test_a_row_whose_grammar_is_none_fails_alone",
    "test_two_relqueries_at_once_keep_their_own_answers",
    "test_a_relquery_given_up_half_way_leaves_an_idle_engine", "test_a_seed_makes_chance_repeatable",
    "test_no_reply_is_longer_than_max_tokens",
}  # fmt: skip


@pytest.fixture
def engine(zoo_engine: LocalEngine, request: pytest.FixtureRequest) -> Any:
    gap = GAPS.get((request.node.originalname, zoo_engine.model))
    if gap:
        request.applymarker(pytest.mark.xfail(reason=gap, strict=True))
    yield zoo_engine
    wait_until(lambda: zoo_engine.num_unfinished == 0)


def without_its_engines(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test of the contract, to be run on whatever `engine` is here."""
    copied: Any = FunctionType(test.__code__, test.__globals__, test.__name__)
    copied.pytestmark = [mark for mark in getattr(test, "pytestmark", []) if mark.args[:1] != ("engine",)]
    return copied  # type: ignore[no-any-return]


def is_of_the_contract(name: str, function: Callable[..., Any]) -> bool:
    asks_an_engine = "engine" in inspect.signature(function).parameters
    return name.startswith("test_") and asks_an_engine and name not in {OTHERWISE_HERE, *OF_NO_MODEL}


globals().update({
    name: without_its_engines(function)
    for name, function in inspect.getmembers(test_contract, inspect.isfunction)
    if is_of_the_contract(name, function)
})  # fmt: skip


def test_the_reply_is_the_most_probable_choice(engine: LocalEngine) -> None:
    replies = ask(
        engine, test_contract.PROMPTS[:20], grammar=Grammar(choices=("yes", "no")), with_confidence=True
    )
    assert {reply.text for reply in replies} <= {"yes", "no"}
    assert all(reply.confidence is not None and 0.5 <= reply.confidence <= 1 for reply in replies)
