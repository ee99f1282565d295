"""Decisions by the embedded model, whose engine answers SQL, too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import openai
import pytest

import relserve
from relserve.call.answer_types import Grammar
from relserve.gate.made import make_gate
from tests.engines.asking import ask
from tests.gate.entered import entered
from tests.server.openai.test_openai_tiny import num_in_engine
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of vLLM's own server, in another thread
]
DOCS = Path(__file__).parents[3] / "docs"
NOUL = {"type": "noul", "instructions": "Is it a complaint?"}
LEAD = "Answer with exactly one of: {}."


def post(gateway, body, path="systemone"):
    return httpx.post(f"{gateway.url}/{path}", json={"model": "tiny", **body}, timeout=PATIENCE_S)


def example():
    """The body of the docs' request."""
    page = (DOCS / "openai.md").read_text("utf-8")
    (body,) = re.findall(r"systemone .*? -d '(\{.*?\n\})'", page, re.DOTALL)
    return json.loads(body)


def test_the_example_of_the_docs_gets_the_numbers_of_llm_decide(tiny_gateway, local_engine):
    """So does OpenAI's own client, which asks the same in its words."""
    body = example()
    found = post(tiny_gateway, body).json()["answers"]
    with relserve.connect(engine=local_engine, cache=False, progress=False) as con:
        asked = json.dumps(body["questions"])
        (row,) = con.execute(f"SELECT llm_decide(?, questions := '{asked}')", [body["state"]]).fetchone()
    assert found["complaint"]["noul"] == pytest.approx(row["complaint"], abs=1e-4)
    assert found["team"]["probabilities"] == pytest.approx(row["team"]["probabilities"], abs=1e-4)
    assert found["mood"]["score"] == pytest.approx(row["mood"]["score"], abs=1e-4)
    (predicate,) = tiny_gateway.client().decisions.create(
        model="tiny", input=body["state"],
        questions=[{**body["questions"]["complaint"], "type": "predicate"}],
    ).answers  # fmt: skip
    assert predicate.probability == pytest.approx(row["complaint"], abs=1e-4)


def test_a_number_is_what_the_engine_reads_after_the_same_prompt(tiny_gateway, local_engine):
    choices = ("sales", "the support of all")  # not one token each: read exactly
    asked = {"a": NOUL, "b": {"type": "choice", "instructions": "Who?", "criteria": list(choices)}}
    answer = post(tiny_gateway, {"state": {"text": "It broke."}, "questions": asked}).json()
    state = '{"text":"It broke."}'
    for key, words in (("a", ("yes", "no")), ("b", choices)):
        prompt = f"{state}\n{asked[key]['instructions']}\n{LEAD.format(', '.join(words))}"
        (read,) = ask(local_engine, [prompt], grammar=Grammar(choices=words), max_tokens=1, read="label")
        told = answer["answers"][key]
        number = told["noul"] if key == "a" else told["probabilities"]["sales"]
        assert number == pytest.approx(read.probabilities[0], abs=1e-4)
    assert tiny_gateway.quota.used("anybody") == answer["usage"]["total_tokens"]


def test_the_state_is_computed_once_for_all_questions(tiny_gateway):
    state = " ".join(f"The {number}th mug of this order broke." for number in range(60))
    asked = {f"q{number}": {**NOUL, "instructions": f"Is it about mug {number}?"} for number in range(3)}
    usage = post(tiny_gateway, {"state": state, "questions": asked}).json()["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] > usage["input_tokens"] / 2


def test_a_state_that_does_not_fit_is_413_and_says_by_how_much(tiny_gateway):
    reply = post(tiny_gateway, {"state": "It broke. " * 9000, "questions": {"a": NOUL}})
    assert reply.status_code == 413
    assert re.search(r"question 'a': the prompt has [\d,]+ tokens, the model's context holds", reply.text)


@pytest.mark.long
def test_decisions_wait_at_the_gate_of_the_engine(tiny_gateway, local_engine, monkeypatch):
    monkeypatch.setattr(local_engine, "gate", make_gate("static-1", {}))
    body = {"state": "It broke.", "questions": {"a": NOUL, "b": NOUL}}
    with entered(local_engine.gate, prompt_tokens=1, max_tokens=1):
        assert post(tiny_gateway, {**body, "deadline": 0.5}).status_code in (429, 504)
        with pytest.raises(openai.APITimeoutError):
            tiny_gateway.client(timeout=0.5).decisions.create(
                model="tiny", input="It broke.", questions=[{**NOUL, "type": "predicate"}]
            )
        wait_until(lambda: ("anybody", 499) in tiny_gateway.codes)
        assert num_in_engine(local_engine) == 0
    assert post(tiny_gateway, body).status_code == 200
