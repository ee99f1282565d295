"""The HTTP engine against vLLM's own /v1/systemone, of a made-up Qwen3: vLLM has none for tiny's kind."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of
from vllm_servers import VllmServer

from benchmarks.zoo import build
from relserve.call.answer_types import ChoiceAnswer, Grammar
from relserve.call.decisions import Labelling
from relserve.call.frame import Frame
from relserve.engines.http import rows
from relserve.engines.http.decision_wire import SYSTEM_ONE
from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.server import ReadingWays
from relserve.engines.loop import spawn
from relserve.errors import EngineDeadError, EngineStartError, FailureKind
from relserve.session.per_question import PerQuestion
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own, pytest.mark.long]

TEAMS = ("sales", "support", "nobody")
ROWS = ["it broke", "a price?", "thank you"]


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory):
    server = VllmServer(build("qwen3"), tmp_path_factory.mktemp("serve") / "serve.log")
    server.ensure_up()
    yield server
    server.stop()


@pytest.fixture
def engine(qwen3):
    """One that asks /v1/systemone, though the server's chat tells probabilities, too."""
    engine = HttpEngine(qwen3.url)
    server = spawn(engine.start()).result(timeout=PATIENCE_S)
    server.reads = ReadingWays((SYSTEM_ONE,), True)
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)


def told(server, state, question):
    """What the endpoint says itself."""
    body = {"model": "tiny", "state": state, "questions": {"it": question}}
    request = urllib.request.Request(
        f"{server.url}/systemone", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return json.load(response)


@pytest.mark.parametrize("choices", [("yes", "no"), TEAMS])
def test_probabilities_are_those_that_it_says(qwen3, engine, choices):
    question = {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(choices)}
    if choices == ("yes", "no"):
        question = {"type": "noul", "instructions": "Which?"}
    prompts = [f"{ChoiceAnswer(choices).instruction}\nWhich? {row}" for row in ROWS]
    asked = submission_of(prompts, grammar=Grammar(choices=choices), max_tokens=1, read="label")
    asked = replace(asked, sampling=replace(asked.sampling, label_mass=True))
    replies = spawn(collect(engine, replace(asked, frame=Frame("Which? ")))).result(timeout=TIMEOUT_S)
    for reply in replies:
        body = told(qwen3, ROWS[reply.index], question)
        shares = body["answers"]["it"]["probabilities"]
        assert reply.failure is None
        assert reply.probabilities == pytest.approx([shares[choice] for choice in choices], abs=1e-3)
        assert reply.text == max(shares, key=shares.get)
        assert reply.label_masses == pytest.approx([body["diagnostics"]["it"]["label_mass"]], abs=1e-3)
        assert reply.usage.prompt_tokens == body["usage"]["input_tokens"]


def test_labels_of_a_row_go_together(engine):
    follow_ups = Labelling(TEAMS).follow_ups
    how = {"grammar": Grammar(choices=TEAMS), "max_tokens": 1, "read": "label", "follow_ups": follow_ups}
    replies = ask(PerQuestion(engine), ROWS, **how)
    assert [reply.failure for reply in replies] == [None] * 3
    assert all(0 < p < 1 for reply in replies for p in reply.probabilities)
    assert engine.server.concurrency.num_answered == 3


def test_more_choices_than_it_has_letters_for_are_refused(engine):
    choices = tuple(f"team {i}" for i in range(27))
    (reply,) = ask(engine, ["Which?"], grammar=Grammar(choices=choices), max_tokens=1, read="label")
    assert reply.failure.kind is FailureKind.REFUSED
    assert "at most 26 options" in reply.failure.message


def test_kill_9_of_the_server_ends_the_query_and_leaves_what_came(qwen3, monkeypatch):
    """The last test of this server."""
    monkeypatch.setattr(rows, "FIRST_DELAY_S", 0.05)
    engine, came = HttpEngine(qwen3.url), []

    async def kill_half_way():
        async for batch in engine.answer(submission_of(ROWS * 300, max_tokens=64)):
            if not came:
                qwen3.kill()
            came.extend(batch)

    with pytest.raises(EngineDeadError, match="no longer answers"):
        spawn(kill_half_way()).result(timeout=PATIENCE_S)
    assert came
    assert all(reply.failure is None for reply in came)
    with pytest.raises(EngineStartError, match="no LLM server answers"):
        ask(engine, ROWS)
