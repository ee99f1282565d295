"""Log probabilities as servers tell them: how many are asked for, and the share of a choice among them."""

from __future__ import annotations

import math
import random
import time

import pytest
from asking import ask
from http_fakes import Answered, said

from relserve.call.answer_types import Grammar
from relserve.engines.http.choice_share import ReplyToken, share_of
from relserve.engines.http.engine import HttpEngine

YES_NO = Grammar(choices=("yes", "no"))
LLAMA = {"data": [{"id": "m", "owned_by": "llamacpp"}]}
NESTED = {"detail": [{
    "type": "less_than_equal", "loc": ["body", "top_logprobs"],
    "msg": "Input should be less than or equal to 5", "input": 20, "ctx": {"le": 5},
}]}  # fmt: skip


def chat(text, *tokens):
    """A chat's reply whose tokens have these log probabilities, and these likeliest others."""
    reply = said(text)
    content = [
        {"token": token, "logprob": logprob, "top_logprobs": [
            {"token": other, "logprob": its} for other, its in others.items()
        ]}
        for token, logprob, others in tokens
    ]  # fmt: skip
    reply.body["choices"][0]["logprobs"] = {"content": content}
    return reply


def told(message):
    return {"error": {"message": message}}


@pytest.mark.parametrize(
    ("allowed", "status", "body", "asked"),
    [
        (5, 400, told("Requested sample logprobs of 20, which is greater than max allowed: 5"), [20, 5]),
        (8, 400, told("top_logprobs must be less than or equal to 8"), [20, 5]),
        (5, 422, NESTED, [20, 5]),
        (5, 400, told("Invalid value for top_logprobs: must be between 0 and 5, not supported"), [20, 5]),
        (0, 400, told("Requested sample logprobs of 5, which is greater than max allowed: 0"), [20, 5, None]),
        (0, 400, told("unknown field top_logprobs; see our grammar of fields"), [20, 5, None]),
    ],
)
def test_a_server_that_tells_of_fewer_tokens_is_asked_for_fewer(fake, allowed, status, body, asked):
    async def handler(request):
        if request.get("top_logprobs", 0) > allowed:
            return Answered(status, body)
        return chat("yes", ("yes", math.log(0.6), {"yes": math.log(0.6), "no": math.log(0.2)}))

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    replies = ask(engine, ["a", "b"], grammar=YES_NO, with_confidence=True)
    assert [reply.confidence for reply in replies] == [pytest.approx(0.75)] * 2
    assert [each.get("top_logprobs") for _, each in server.requests] == [*asked, asked[-1]]
    assert all(each["logprobs"] is True and "response_format" in each for _, each in server.requests)


def test_llama_cpps_thousand_shrink_too(fake):
    async def handler(request):
        most = request.get("top_logprobs", 0)
        return Answered(400, told(f"top_logprobs {most} is too large")) if most > 20 else said("yes")

    server = fake(handler, models=LLAMA)
    ask(HttpEngine(server.url), ["a"], grammar=YES_NO, with_confidence=True)
    assert [each["top_logprobs"] for _, each in server.requests] == [1000, 20]


@pytest.mark.parametrize(("allowed", "asked"), [(3, [5, 1]), (-1, [5, 1, None])])
def test_completions_tell_of_fewer_tokens(fake, allowed, asked):
    async def handler(request):
        if "messages" in request:
            return Answered(404, {"detail": "Not Found"})
        if (most := request.get("logprobs", -1)) > allowed:
            return Answered(400, told(f"Requested sample logprobs of {most}, max allowed: {allowed}"))
        logprobs = {"tokens": ["yes"], "token_logprobs": [math.log(0.6)], "top_logprobs": None}
        return Answered(200, {"choices": [{"text": "yes", "finish_reason": "stop", "logprobs": logprobs}]})

    server = fake(handler)
    ask(HttpEngine(server.url), ["a"], grammar=YES_NO, with_confidence=True)
    assert [each.get("logprobs") for _, each in server.requests[1:]] == asked


def test_a_refusal_where_none_were_asked_for_is_told(fake):
    async def handler(request):
        return Answered(400, told("top_logprobs needs logprobs"))

    server = fake(handler)
    (reply,) = ask(HttpEngine(server.url), ["a"], grammar=YES_NO)
    assert reply.text is None
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("text", "tokens", "confidence"),
    [
        ("yes", [("yes", -9999.0, {"the": -0.1, "a": -2.0})], 0.0),  # the server tells nothing of it
        ("yes", [("yes", -9999.0, {"the": -0.1, "no": -2.0})], 0.0),
        ("yes", [("yes", -800.0, {"the": 0.0, "no": -800.0})], 0.5),
        ("yes", [("yes", float("-inf"), {"the": 0.0, "a": -2.0})], 0.0),
        ("yes", [("yes", float("nan"), {"the": 0.0, "no": -2.0})], None),
        ("yes", [("yes", -0.1, {"the": float("inf"), "no": -2.0})], None),
        ("yes", [("yes", 900.0, {"no": 900.0, "a": 1.0})], 0.5),  # no probabilities, but in proportion
    ],
)
def test_odd_probabilities_fail_nothing(fake, text, tokens, confidence):
    async def handler(request):
        return chat(text, *tokens)

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.text == text
    assert reply.confidence == (confidence if confidence is None else pytest.approx(confidence))


def test_a_choice_counts_in_both_cases(fake):
    async def handler(request):
        return chat("Yes", ("Yes", math.log(0.6), {"No": math.log(0.2), "yes": math.log(0.1), "A": -0.1}))

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.text == "yes"
    assert reply.confidence == pytest.approx(0.7 / 0.9)


def plainly(grammar, answer, token):
    """The share as its definition has it, choice by choice, for an answer of one token."""
    masses = dict.fromkeys(grammar.choices, 0.0)
    written = grammar.written  # each choice, and with a capital letter
    for text, logprob in token.likeliest.items():
        if text == token.text:
            continue
        begun = grammar.without_space(text)
        meant = [text for text in written if text.startswith(begun)]
        meant = meant or sorted((text for text in written if begun.startswith(text)), key=len)[-1:]
        for text in meant:
            masses[written[text]] += math.exp(logprob) / len(meant)
    masses[answer] += math.exp(token.logprob)
    return masses[answer] / sum(masses.values())


@pytest.mark.parametrize("seed", range(20))
def test_the_share_is_that_of_every_choice_looked_at(seed):
    rng = random.Random(seed)
    words = {"".join(rng.choices("ab\U0010ffff", k=rng.randint(1, 4))) for _ in range(12)}
    choices = tuple(rng.sample(sorted(words), len(words)))
    grammar = Grammar(choices=choices)
    texts = {"".join(rng.choices(' ab"\U0010ffff', k=rng.randint(1, 5))) for _ in range(30)}
    token = ReplyToken(rng.choice(choices), -1.0, {text: rng.uniform(-9, 0) for text in sorted(texts)})
    share = share_of(grammar, token.text, [token], 0)
    assert share == pytest.approx(plainly(grammar, token.text, token))


@pytest.mark.performance
def test_hundreds_of_choices_and_a_thousand_words_take_no_time(limit_s):
    """Looked at one by one they take half a second, in which no other reply is read."""
    grammar = Grammar(choices=tuple(f"category {number}" for number in range(500)))
    likeliest = {f"{letter}{number}": -9.0 for number in range(100) for letter in " catego12"}
    tokens = [
        ReplyToken(text, -1.0, {text: -1.0, **likeliest}) for text in ("cat", "egory", " ", "2", "5", "0")
    ]
    started = time.perf_counter()
    for _ in range(5):
        assert share_of(grammar, "category 250", tokens, 0) is not None
    assert time.perf_counter() - started < limit_s(0.5)
