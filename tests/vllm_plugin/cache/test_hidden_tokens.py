"""Requests that hold X say, token for token in float32, what stock vLLM says; and no block is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.vllm_plugin.cache.hybrid_engines import (
    BLOCK,
    FORMS,
    NUM_NEW,
    Work,
    build_model,
    check_idle,
    environment,
    every,
    said,
    scheduler_of,
    start,
    watched,
    work,
)

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

KINDS = {"hidden": ("hidden",), "mixed": ("kv", "hidden")}
GRAMMARS: dict[str, Any] = {"forms": ("", *FORMS), "max_tokens": 40}  # five: each form meets each kind
MODELS = ("opt", "tiny")  # positions in the input, and turned keys
# Who has which block when is a matter of no model.
ON_ONE_MODEL = pytest.mark.parametrize("pair", MODELS[:1], indirect=True, scope="module")


class Pair:
    """A model's engine whose requests hold what they say, and what stock vLLM says to the same prompts."""

    def __init__(self, name: str, folder: Any) -> None:
        path = build_model(name, folder)
        stock = start(path, None)
        self.expected = said(stock, work())
        self.others = said(stock, work(seed=3, max_tokens=60))
        self.in_forms = said(stock, work(**GRAMMARS))
        stock.llm_engine.engine_core.shutdown()
        self.name, self.hybrid = name, start(path, "hybrid")


@pytest.fixture(scope="module", params=MODELS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with environment():
        made = Pair(request.param, tmp_path_factory.mktemp("models"))
        yield made
        made.hybrid.llm_engine.engine_core.shutdown()


@pytest.mark.parametrize("kinds", KINDS)
def test_tokens_are_stocks_with_and_without_prefixes(pair: Pair, kinds: str) -> None:
    pair.hybrid.reset_prefix_cache()
    assert len(set(pair.expected)) == len(pair.expected)
    assert {len(each) for each in pair.expected[::4]} == {NUM_NEW}
    for _ in range(2):  # the second time, prefixes are found
        assert said(pair.hybrid, work(KINDS[kinds])) == pair.expected
        check_idle(pair.hybrid)


@ON_ONE_MODEL
def test_a_prefix_is_found_by_requests_of_its_kind_alone(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    found = []
    for kind in ("kv", "hidden", "hidden", "kv"):
        requests = work((kind,))
        one = Work(requests.prompts[:1], requests.params[:1])
        [output] = pair.hybrid.generate(one.prompts, one.params, use_tqdm=False)
        assert tuple(output.outputs[0].token_ids) == pair.expected[0]
        found.append(output.num_cached_tokens)
    num_tokens = len(work().prompts[0]["prompt_token_ids"])
    of_x = (num_tokens - 1) // (2 * BLOCK) * 2 * BLOCK
    assert found == [0, 0, of_x, (num_tokens - 1) // BLOCK * BLOCK]
    assert of_x > 0


def test_requests_change_their_kind_again_and_again_in_a_full_pool(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    requests = work(KINDS["mixed"], seed=3, max_tokens=60)
    with watched(pair.hybrid, every(5)) as seen:
        assert said(pair.hybrid, requests) == pair.others
    check_idle(pair.hybrid)
    assert len(seen.when_full) > 100


def keeps_form(form: str, text: str) -> bool:
    """Whether a whole answer is what its grammar allows."""
    given = FORMS[form]
    if form == "schema":
        return json.loads(text).keys() == {"name", "stars", "good"}
    if form == "choice":
        return text in given["choice"]
    return re.fullmatch(given.get("regex", r"[a-z]+ = \d+(; [a-z]+ = \d+)*"), text) is not None


def form_of(params: Any) -> str:
    """The form of a request's grammar: vLLM has made one in EBNF of a choice."""
    asked = params.structured_outputs
    if asked is None:
        return ""
    if asked.grammar:
        return "ebnf" if asked.grammar == FORMS["ebnf"]["grammar"] else "choice"
    return "schema" if asked.json else "regex"


def test_answers_in_a_form_are_stocks(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    assert said(pair.hybrid, work(KINDS["mixed"], **GRAMMARS)) == pair.in_forms
    check_idle(pair.hybrid)
    tokenizer, whole = pair.hybrid.get_tokenizer(), set()
    for i, tokens in enumerate(pair.in_forms):
        form = GRAMMARS["forms"][i % 5]
        if form and tokens[-1] == tokenizer.eos_token_id:
            assert keeps_form(form, tokenizer.decode(tokens, skip_special_tokens=True))
            whole.add(form)
    assert whole >= {"regex", "choice"}  # the others may go on for ever


@ON_ONE_MODEL
def test_kinds_change_amid_answers_in_a_form(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    picks, amid = every(3), set()

    def picked(request: Any) -> bool:
        is_picked = picks(request)
        if is_picked and request.num_output_tokens:
            amid.add(form_of(request.sampling_params))
        return is_picked

    with watched(pair.hybrid, picked) as seen:
        assert said(pair.hybrid, work(KINDS["mixed"], **GRAMMARS)) == pair.in_forms
    check_idle(pair.hybrid)
    assert amid == {"", *FORMS}
    assert len(seen.when_full) > 100


@ON_ONE_MODEL
def test_requests_that_vllm_preempts_say_the_same(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    with watched(pair.hybrid) as seen:
        assert said(pair.hybrid, work(KINDS["mixed"], seed=3, max_tokens=60)) == pair.others
    check_idle(pair.hybrid)
    assert len(seen.preempted) > 0


@ON_ONE_MODEL
def test_twice_as_many_run_at_once(pair: Pair) -> None:
    most = {}
    for kind in ("kv", "hidden"):
        pair.hybrid.reset_prefix_cache()
        requests = work((kind,), num=16, max_tokens=40)
        alike = [{"prompt_token_ids": [7 + i] * 150} for i in range(16)]
        with watched(pair.hybrid) as seen:
            said(pair.hybrid, Work(alike, requests.params))
        most[kind] = max(seen.running)
    assert most["hidden"] >= 1.5 * most["kv"]


@ON_ONE_MODEL
def test_aborted_requests_leave_nothing(pair: Pair) -> None:
    pair.hybrid.reset_prefix_cache()
    engine, requests = pair.hybrid.llm_engine, work(KINDS["mixed"])
    for i, (prompt, params) in enumerate(zip(*requests, strict=True)):
        engine.add_request(str(i), prompt, params)
    given: dict[str, tuple[int, ...]] = {}
    aborted = set()
    for step in range(1000):
        for output in engine.step():
            if output.finished:
                given[output.request_id] = tuple(output.outputs[0].token_ids)
        if step % 7 == 3 and len(aborted) < 6:  # running ones of both kinds, and waiting ones
            name = str(3 * len(aborted))
            aborted.add(name)
            engine.abort_request([name])
        if not engine.has_unfinished_requests():
            break
    left = {str(i): tokens for i, tokens in enumerate(pair.expected) if str(i) not in aborted}
    assert {name: given[name] for name in left} == left
    assert len(left) == 14
    check_idle(pair.hybrid)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_what_is_said_depends_on_x(pair: Pair, factor: float) -> None:
    """The control: with X changed on its way to memory, tokens are others, so these tests can fail."""
    pair.hybrid.reset_prefix_cache()
    from relserve.vllm_plugin.cache import operator

    def changed(x: Any, pool: Any, slots: Any, path: Any) -> None:
        keep(x * factor, pool, slots, path)

    keep = operator.store_x
    with patch.object(operator, "store_x", changed):
        given = said(pair.hybrid, work(("hidden",)))
    pair.hybrid.reset_prefix_cache()
    assert (given == pair.expected) == (factor == 1.0)
    check_idle(pair.hybrid)


def test_memory_for_blocks_is_what_the_weights_leave(tmp_path: Path) -> None:
    """They are made of the model's while the engine starts, and in no step."""
    with environment():
        llm = start(build_model("opt", tmp_path), "hidden")
        with patch(
            "relserve.vllm_plugin.cache.attending.weights_of", side_effect=AssertionError("in a step")
        ):
            assert all(said(llm, work(("hidden",), num=3, max_tokens=3)))
        llm.llm_engine.engine_core.shutdown()


def test_the_engine_is_what_it_is_taken_for(pair: Pair) -> None:
    scheduler = scheduler_of(pair.hybrid)
    assert scheduler.kinds.hidden_tokens_per_block == 2 * scheduler.kinds.tokens_per_block == 2 * BLOCK
    model = pair.hybrid.llm_engine.model_executor.driver_worker.worker.get_model()
    assert type(model).__module__ == "relserve.vllm_plugin.cache.models"
