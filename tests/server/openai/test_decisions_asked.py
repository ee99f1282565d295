"""Decisions: what clients of both wires ask and get, with the engine's probabilities scripted."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from relserve.call.relquery import Reply, Usage
from relserve.call.standing import Standing
from relserve.errors import Failure, FailureKind, OptionError
from relserve.server.openai.decision_request import DECISIONS, read_decision
from relserve.server.users.salts import Salts
from relserve.server.users.users import User
from tests.waiting import wait_until

TEAM = {"type": "choice", "instructions": "Which team?", "criteria": {"sales": "prices", "support": None}}
ASKED = {
    "model": "scripted", "state": {"id": 7, "text": "It broke."}, "instructions": "Be strict.",
    "questions": {
        "complaint": {"type": "noul", "instructions": "Is it a complaint?", "criteria": {"true": "anger"}},
        "team": TEAM,
        "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "cross", "furious"]},
    },
}  # fmt: skip
LISTED: Any = [
    {"type": "predicate", "instructions": [{"type": "input_text", "text": "Is it a complaint?"}]},
    {"type": "choice", "name": "broken", "instructions": "Broken?",
     "choices": [{"value": True, "description": "it is"}, {"value": False}, {"value": "partly"}]},
    {"type": "score", "name": "anger", "instructions": "How angry?",
     "levels": [{"label": "calm"}, {"label": "furious"}]},
]  # fmt: skip
TWICE = ",".join(f'"k{min(i, 199_998)}": 1' for i in range(200_000))  # the last name
READS = [(0.75, 0.25), (0.25, 0.5, 0.25), (0.25, 0.75)]


def post(gateway: Any, path: str = "systemone", key: str = "", **body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{gateway.url}/{path}", json={**ASKED, **body}, headers=headers, timeout=60)


def post_state(gateway: Any, state: str, questions: Any) -> httpx.Response:
    """What is answered about a state that is given as its JSON."""
    body = f'{{"model": "scripted", "state": {state}, "questions": {json.dumps(questions)}}}'
    headers = {"content-type": "application/json"}
    return httpx.post(f"{gateway.url}/systemone", content=body, headers=headers, timeout=30)


def test_system_one_as_its_clients_ask_it(gateway, upstream):
    upstream.reads = [(0.75, 0.25), (0.25, 0.75), (0.25, 0.5, 0.25)]
    answer = post(gateway).json()
    assert answer["answers"] == {
        "complaint": {"type": "noul", "noul": 0.75},
        "team": {
            "type": "choice", "choice": "support", "confidence": 0.75,
            "probabilities": {"sales": 0.25, "support": 0.75},
        },
        "anger": {
            "type": "score", "score": 1.0, "confidence": 0.5,
            "probabilities": {"0": 0.25, "1": 0.5, "2": 0.25},
            "legend": {"0": "calm", "1": "cross", "2": "furious"},
        },
    }  # fmt: skip
    assert answer["model"] == "scripted"
    usage = answer["usage"]
    assert usage["output_tokens"] == 3
    assert gateway.quota.used("anybody") == usage["input_tokens"] + 3


def test_openais_own_client_asks_for_decisions(gateway, upstream):
    upstream.reads = READS
    answer = gateway.client().decisions.create(model="scripted", input="It broke.", questions=LISTED)
    predicate, choice, score = answer.answers
    assert (predicate.type, predicate.name, predicate.probability) == ("predicate", None, 0.75)
    assert (choice.type, choice.name, choice.choice, choice.confidence) == ("choice", "broken", False, 0.5)
    assert [(each.value, each.probability) for each in choice.probabilities] == [
        (True, 0.25), (False, 0.5), ("partly", 0.25),
    ]  # fmt: skip
    assert (score.type, score.score, score.confidence) == ("score", 0.75, 0.75)
    assert [(each.label, each.value, each.probability) for each in score.probabilities] == [
        ("calm", 0, 0.25), ("furious", 1, 0.75),
    ]  # fmt: skip
    assert answer.usage.total_tokens == answer.usage.input_tokens + 3


def test_the_questions_are_rows_of_one_relquery_that_begin_with_the_state(keyed, book, upstream):
    key = book.add("ann b")
    tags = {"rel_id": "nightly", "rel_rows": 50, "rel_stage": 2}
    assert post(keyed, key=key, deadline="30 s", vllm_xargs=tags).status_code == 200
    (asked,) = upstream.submissions
    assert [asked.grammar_of(place).choices for place in range(3)] == [
        ("yes", "no"), ("sales", "support"), ("calm", "cross", "furious"),
    ]  # fmt: skip
    assert all(prompt.startswith('{"id":7,"text":"It broke."}\n') for prompt in asked.prompts)
    assert ["sales: prices" in prompt for prompt in asked.prompts] == [False, True, False]
    assert (asked.user, asked.system, asked.sampling.read) == ("ann b", "Be strict.", "label")
    tag = asked.tag()  # the scheduler is told of prefills with one step each
    assert (tag.rel_id, tag.rows, tag.stage, tag.output_cap) == ("openai ann%20b nightly", 50, "2", 1)
    assert asked.cache_salt
    assert tag.deadline_s is not None


@pytest.mark.parametrize(
    ("path", "given", "param", "why"),
    [
        ("systemone", {"state": None}, "state", "state is missing: give the text or the JSON"),
        ("systemone", {"questions": {}}, "questions", "has no question; give one or more, like"),
        ("systemone", {"questions": None}, "questions", "questions must be JSON like"),
        ("systemone", {"questions": {"q": {"type": "vote"}}}, "questions", "question 'q': type must be"),
        ("systemone", {"questions": {"q": {**TEAM, "criteria": ["a"]}}}, "questions", "two choices or more"),
        ("systemone", {"images": ["data:,"]}, "images", "decides about text alone; leave it out"),
        ("systemone", {"instructions": 3}, "instructions", "instructions is a text"),
        ("systemone", {"deadline": "soon"}, "deadline", "deadline must be a length of time"),
        ("decisions", {"input": None}, "input", "input is a text, or a list of messages like"),
        ("decisions", {"input": [3]}, "input", "item 1 of input is 3; input is a text, or"),
        ("decisions", {"questions": {"q": TEAM}}, "questions", "questions is a list like"),
        ("decisions", {"questions": [LISTED[0], 3]}, "questions", "question 2"),
        (
            "decisions",
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://x"}]}]},
            "input", "this server reads text alone: give a text, or parts",
        ),
        (
            "decisions",
            {"questions": [{**LISTED[1], "choices": [{"value": True}, {"value": "true"}]}]},
            "questions", "'true' more than once",
        ),
    ],
)  # fmt: skip
def test_a_wrong_request_is_told_where_and_how_to_mend_it(gateway, upstream, path, given, param, why):
    listed = {"input": "It broke.", "questions": LISTED} if path == "decisions" else {}
    reply = post(gateway, path, **{**listed, **given})
    error = reply.json()["error"]
    assert (reply.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert why in error["message"]
    assert not upstream.submissions


def test_of_two_questions_with_one_id_neither_is_asked(gateway, upstream):
    body = json.dumps(ASKED).replace('"team":', '"anger":')
    reply = httpx.post(f"{gateway.url}/systemone", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, "'anger' is there more than once" in reply.text) == (400, True)
    assert not upstream.submissions


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("state", "status", "why"),
    [
        (f"{{{TWICE}}}", 400, "'k199998' is there more than once"),
        (r'"\ud800"', 400, "half a surrogate pair"),
        (json.dumps("x" * 1_000_000), 413, "has 64,000,000 characters; the most is 33,554,432"),
    ],
    ids=["many keys", "half a pair", "64 times a long state"],
)  # fmt: skip
def test_what_would_hold_up_the_server_or_its_engine_is_refused(gateway, upstream, state, status, why):
    questions = {str(i): {"type": "noul", "instructions": "?"} for i in range(64)}
    reply = post_state(gateway, state, questions)
    assert (reply.status_code, why in reply.text) == (status, True)
    assert not upstream.submissions


@pytest.mark.long
def test_a_body_of_any_depth_is_answered_or_refused(gateway, upstream):
    upstream.reads = [(0.75, 0.25)]
    asked = {"q": {"type": "noul", "instructions": "?"}}
    for depth in range(950, 990):
        state = '{"a": ' * depth + "1" + "}" * depth
        reply = post_state(gateway, state, asked)
        assert reply.status_code == 200 or "nested too deep" in reply.text


def test_other_models_methods_and_strangers(gateway, keyed, upstream):
    assert post(gateway, model="gpt-6-luna").json()["error"]["code"] == "model_not_found"
    assert httpx.get(f"{gateway.url}/systemone").status_code == 405
    assert post(keyed).status_code == 401
    assert not upstream.submissions


@pytest.mark.parametrize(
    ("failure", "status", "why"),
    [
        (Failure(FailureKind.OVER_CONTEXT, "the prompt has 9 tokens"), 413, "'team': the prompt"),
        (Failure(FailureKind.DEADLINE, "its deadline passed"), 504, "its deadline passed"),
        (Failure(FailureKind.REFUSED, "no label"), 501, "question 'team': no label"),
        (Failure(FailureKind.ENGINE, "KeyError in /home/x"), 500, "the server's log says why"),
        (None, 501, "'team': the engine tells no probabilities"),
    ],
)  # fmt: skip
def test_a_question_without_an_answer_is_an_error_of_the_request(gateway, upstream, failure, status, why):
    upstream.reads = [(0.5, 0.5), Reply(1, None, failure, Usage(5)), (0.5, 0.25, 0.25)]
    reply = post(gateway)
    assert (reply.status_code, why in reply.json()["error"]["message"]) == (status, True)
    assert "/home" not in reply.text
    assert gateway.quota.used("anybody") > 5  # what was read is paid for


def test_an_engine_that_cannot_answer_is_told(gateway, upstream):
    upstream.down = True
    reply = post(gateway)
    assert (reply.status_code, int(reply.headers["retry-after"]) >= 1) == (503, True)
    upstream.down, upstream.reads = False, OptionError("its numbers are no probabilities")
    reply = post(gateway)
    assert (reply.status_code, reply.headers["x-should-retry"]) == (501, "false")
    assert "its numbers are no probabilities" in reply.text


def test_questions_that_would_be_late_are_turned_away_with_the_estimate(gateway, upstream):
    upstream.stands, upstream.pause_s = Standing(3, 90.0, "busy"), 60.0
    reply = post(gateway, deadline=30)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "90")
    assert "about 90 s to the end" in reply.json()["error"]["message"]
    wait_until(lambda: upstream.aborted == 1)


def test_a_client_that_leaves_ends_its_questions_and_pays_for_them(gateway, upstream):
    upstream.pause_s = 60.0
    with pytest.raises(openai.APITimeoutError):
        gateway.client(timeout=0.5).decisions.create(model="scripted", input="It broke.", questions=LISTED)
    wait_until(lambda: upstream.aborted == 1)
    wait_until(lambda: gateway.codes == {("anybody", 499): 1})
    assert gateway.quota.used("anybody") > 0


def test_each_question_counts_as_a_request_and_its_tokens_to_the_quota(keyed, book, upstream):
    few = book.add("ann", requests_at_once=2)
    assert "asks for 3 answers, and user ann may have 2" in post(keyed, key=few).json()["error"]["message"]
    poor = book.add("bob", tokens_per_minute=10)
    assert post(keyed, key=poor).status_code == 200  # the last one may go over
    reply = post(keyed, key=poor)
    assert (reply.status_code, reply.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 1 <= int(reply.headers["retry-after"]) <= 62


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ("It broke.", "It broke."),
        ([{"role": "user", "content": "It broke."}], "It broke."),
        ([{"role": "user", "content": [{"type": "input_text", "text": "So:"},
                                       {"type": "input_json", "data": {"a": [1, "é"]}}]}],
         'So:\n{"a":[1,"é"]}'),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "type": "message", "content": "Yes?"}],
         "user: Hi\nassistant: Yes?"),
        ([{"role": "user", "content": "Hi"},
          {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
          {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "3"}]}],
         'user: Hi\nfunction_call: {"call_id":"c","name":"f","arguments":"{}"}\n'
         'function_call_output: {"call_id":"c","output":"3"}'),
    ],
    ids=["text", "message", "parts", "messages", "tools"],
)  # fmt: skip
def test_inputs_of_every_form_are_one_text(given: Any, state: str) -> None:
    raw = json.dumps({"model": "m", "input": given, "questions": LISTED[:1]}).encode()
    asked = read_decision(DECISIONS, raw, "m", User("ann"), Salts(None))
    assert asked.submission.prompts[0].startswith(f"{state}\n")


def test_a_body_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, read, parsed = json.dumps(ASKED | {"model": "m"}).encode(), json.loads, []

    def counting(given: Any, **how: Any) -> Any:
        parsed.append(given)
        return read(given, **how)

    monkeypatch.setattr(json, "loads", counting)
    assert read_decision("/v1/systemone", raw, "m", User("ann"), Salts(None)).num_answers == 3
    assert parsed == [raw]
