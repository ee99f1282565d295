"""What every engine keeps to, whatever stands behind it."""

from __future__ import annotations

import asyncio
import random
import re
import time
import urllib.request
from concurrent.futures import Future
from contextlib import aclosing

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve.call.answer_types import ChoiceAnswer, Extract, Grammar
from relserve.call.schema import shape_of
from relserve.engines.http.engine import HttpEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import FailureKind
from relserve.server.users.metered import Metered, metered
from relserve.server.users.quota import Quota
from relserve.server.users.users import User
from tests.waiting import PATIENCE_S, wait_until

SESSIONS = pytest.mark.xdist_group("engine")  # one worker has the session's engine and servers
MARKS = {
    "scripted": [],
    "metered": [],
    "local": [pytest.mark.vllm, SESSIONS],
    "http": [pytest.mark.vllm, pytest.mark.engine_of_its_own, SESSIONS],
    "llamacpp": [pytest.mark.engine_of_its_own, SESSIONS],
}
BEHIND = {"metered": "scripted"}  # whose gaps an engine has, too
REMOTE = [
    pytest.param(name, marks=[pytest.mark.engine_of_its_own, SESSIONS]) for name in ("http", "llamacpp")
]
DISHES = ("soup", "steak", "salad", "pie")
WORDS = ("warm", "cold", "late", "kind", "rude", "fresh", "stale", "cheap", "great", "poor")
PROMPTS = [
    f"Is this a good review? The {DISHES[i % 4]} was {WORDS[i % 10]} and {WORDS[i // 10 % 10]}, number {i}."
    for i in range(30)
]
OVER_CONTEXT = "too long " * 30_000  # twice the longest context here, and what a script takes
SELECT = r"""# of a made-up schema
root ::= "SELECT " list_of_columns
  " FROM \"t\" WHERE x > " [1-9] [0-9]?
column ::= "%s"
list_of_columns ::= column (", " column){0,%d}
"""
ODD = [
    "",
    " ",
    "\ud83d",
    "a\udc00b",
    "🦆🧑‍🚀",
    "\0",
    "\u202eback",
    "line\r\nline",
    "<|user|>\n</s>",
    "%s {} {{ }}",
]


def everywhere(**gaps: str):
    """Run a test on every engine; a gap is an engine's name and why it cannot keep to this."""
    params = []
    for name, marks in MARKS.items():
        gap = gaps.get(BEHIND.get(name, name))
        if gap is not None:
            marks = [*marks, pytest.mark.xfail(reason=gap, strict=True)]
        params.append(pytest.param(name, marks=marks))
    return pytest.mark.parametrize("engine", params, indirect=True)


@pytest.fixture
def http_engine(serve_url):
    engine = HttpEngine(serve_url)
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)


@pytest.fixture
def engine(request):
    if request.param in ("scripted", "metered"):
        scripted = ScriptedEngine(chunk=7, pause_s=0.001, max_prompt_chars=200_000)
        if request.param == "scripted":
            return scripted
        return metered(scripted, User("ann", tokens_per_hour=10**9), Quota(time.monotonic))
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture
def remote_engine(request):
    return request.getfixturevalue(f"{request.param}_engine")


def body_of(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
        return response.read().decode()


def num_at_server(url: str) -> int:
    """Requests that a server still works on."""
    metrics = body_of(f"{url}/metrics")
    vllm = r"vllm:num_requests_(?:running|waiting)\{.*\}"
    llama_cpp = "llamacpp:requests_(?:processing|deferred)"
    states = re.findall(rf"^(?:{vllm}|{llama_cpp}) ([0-9.]+)$", metrics, re.MULTILINE)
    assert len(states) >= 2
    return int(sum(map(float, states)))


def num_unfinished(engine) -> int:
    """Requests that the engine still works on."""
    if isinstance(engine, LocalEngine):
        return engine.num_unfinished
    if isinstance(engine, HttpEngine):
        return engine.num_in_flight + num_at_server(engine.model.removesuffix("/v1"))
    return 0


@everywhere()
def test_every_prompt_gets_one_reply(engine):
    replies = spawn(collect(engine, submission_of(PROMPTS))).result(timeout=TIMEOUT_S)
    assert sorted(reply.index for reply in replies) == list(range(len(PROMPTS)))
    assert all(reply.failure is None and isinstance(reply.text, str) for reply in replies)
    assert all(reply.usage.prompt_tokens > 0 and reply.usage.output_tokens > 0 for reply in replies)


@everywhere()
def test_nothing_asked_nothing_answered(engine):
    assert ask(engine, []) == []


@everywhere()
def test_duplicates_are_all_answered(engine):
    first, *others = texts(ask(engine, [PROMPTS[0]] * 5))
    assert others == [first] * 4


@everywhere()
def test_greedy_answers_depend_on_neither_order_nor_company(engine):
    together = dict(zip(PROMPTS, texts(ask(engine, PROMPTS)), strict=True))
    shuffled = random.Random(5).sample(PROMPTS, len(PROMPTS))
    assert dict(zip(shuffled, texts(ask(engine, shuffled)), strict=True)) == together
    for prompt in PROMPTS[:4]:
        assert texts(ask(engine, [prompt])) == [together[prompt]]


@everywhere()
@pytest.mark.parametrize("choices", [("yes", "no"), ("in stock", "sold out", "ünklar", "😀"), ("only",)])
def test_the_reply_is_one_of_the_choices(engine, choices):
    grammar = Grammar(choices=choices)
    replies = ask(engine, PROMPTS[:20], grammar=grammar, max_tokens=grammar.max_bytes + 1)
    assert {reply.text for reply in replies} <= set(choices)


@everywhere()
def test_the_reply_matches_the_regex(engine):
    grammar = Grammar(regex=r"-?[0-9]{1,3}(\.[0-9]{1,2})?")
    replies = ask(engine, PROMPTS[:20], grammar=grammar, max_tokens=grammar.max_bytes + 1)
    assert all(re.fullmatch(grammar.regex, reply.text) for reply in replies)


@everywhere()
def test_the_reply_is_json_of_the_shape(engine):
    kind = Extract(shape_of("""{"day": "DATE", "n": "TINYINT", "kind": "ENUM('a', 'ü \\\\ \\"')"}"""))
    replies = ask(engine, PROMPTS[:20], grammar=kind.grammar, max_tokens=kind.default_max_tokens)
    failures = [answer.failure for answer in (kind.parse(reply.text) for reply in replies) if answer.failure]
    assert len(failures) <= 2, failures  # a grammar knows no leap years


@everywhere()
def test_each_reply_keeps_to_the_grammar_of_its_row(engine):
    """Rules with names that llama.cpp has no letters for, on several lines, with a comment."""
    kinds = ["the_red", "the_blue", "no.colour"]
    grammars = [Grammar(ebnf=SELECT % (kind, i % 4 + 1)) for i, kind in enumerate(kinds * 6)]
    grammars[7], grammars[8] = Grammar(choices=("yes", "no")), None
    replies = ask(engine, PROMPTS[:18], grammars=grammars, max_tokens=128)
    for i, reply in enumerate(replies):
        if i == 7:
            assert reply.text in ("yes", "no")
        elif i != 8:
            column = kinds[i % 3]
            listed = rf"{column}(, {column}){{0,{i % 4 + 1}}}"
            assert re.fullmatch(rf'SELECT {listed} FROM "t" WHERE x > [1-9][0-9]?', reply.text), reply


@everywhere()
def test_rows_of_one_prompt_have_grammars_of_their_own(engine):
    grammars = [Grammar(ebnf=f'root ::= "{word}"') for word in WORDS]
    assert texts(ask(engine, PROMPTS[:1] * 10, grammars=grammars, max_tokens=16)) == list(WORDS)


@everywhere()
@pytest.mark.parametrize("bad", ["root ::= nosuch", 'start ::= "a"', 'root ::= ("a"', "SELECT 1", "?"])
def test_a_row_whose_grammar_is_none_fails_alone(engine, bad):
    good = Grammar(ebnf='root ::= "fine"')
    first, failed, last = ask(engine, PROMPTS[:3], grammars=[good, Grammar(ebnf=bad), good])
    assert (failed.text, failed.failure.kind) == (None, FailureKind.REFUSED)
    assert re.search("rule|grammar", failed.failure.message, re.IGNORECASE)
    assert texts([first, last]) == ["fine"] * 2


@everywhere()
def test_the_reply_tells_its_probability_when_asked(engine):
    grammar = Grammar(choices=("yes", "no"))
    asked, not_asked = (ask(engine, PROMPTS[:20], grammar=grammar, with_confidence=w) for w in (True, False))
    assert all(0 <= reply.confidence <= 1 for reply in asked)
    assert [reply.confidence for reply in not_asked] == [None] * 20
    assert texts(asked) == texts(not_asked)


@everywhere()
def test_the_probabilities_of_yes_and_no_are_read_from_one_token(engine):
    kind = ChoiceAnswer(("yes", "no"))
    prompts = [f"{kind.instruction}\n{prompt}" for prompt in PROMPTS[:20]]  # as typed calls ask
    for reply in ask(engine, prompts, grammar=kind.grammar, max_tokens=1, read="label"):
        assert reply.failure is None
        assert len(reply.probabilities) == 2
        assert sum(reply.probabilities) == pytest.approx(1)
        assert reply.usage.output_tokens == 1


@everywhere(scripted="scripted replies are as long as the script makes them")
@pytest.mark.parametrize("max_tokens", [1, 3])
def test_no_reply_is_longer_than_max_tokens(engine, max_tokens):
    replies = ask(engine, PROMPTS[:10], max_tokens=max_tokens)
    assert all(1 <= reply.usage.output_tokens <= max_tokens for reply in replies)


@everywhere(scripted="scripts answer from the prompt alone")
def test_the_system_message_reaches_the_model(engine):
    (without,) = ask(engine, PROMPTS[:1])
    (with_system,) = ask(engine, PROMPTS[:1], "You are a stern judge of restaurants and their soups.")
    assert with_system.usage.prompt_tokens >= without.usage.prompt_tokens + 5


@everywhere(scripted="scripts know nothing of stop texts")
def test_a_stop_text_ends_the_reply(engine):
    prompt, text = next(
        (p, t) for p, t in zip(PROMPTS, texts(ask(engine, PROMPTS, max_tokens=16)), strict=True) if len(t) > 2
    )
    stop = text[len(text) // 2]
    assert texts(ask(engine, [prompt], max_tokens=16, stop=(stop,))) == [text.split(stop)[0]]


@everywhere()
def test_a_row_over_the_context_fails_alone(engine):
    replies = ask(engine, [PROMPTS[0], OVER_CONTEXT, PROMPTS[1]])
    assert replies[1].text is None
    assert replies[1].failure.kind is FailureKind.OVER_CONTEXT
    assert texts([replies[0], replies[2]]) == texts(ask(engine, PROMPTS[:2]))


@everywhere()
def test_odd_prompts_are_answered(engine):
    replies = ask(engine, ODD)
    assert [reply.failure for reply in replies] == [None] * len(ODD)
    for reply in replies:
        reply.text.encode()  # no lone surrogate comes back


@everywhere()
def test_two_relqueries_at_once_keep_their_own_answers(engine):
    async def both():
        halves = (submission_of(PROMPTS[:15]), submission_of(PROMPTS[15:], max_tokens=3))
        return await asyncio.gather(*(collect(engine, half) for half in halves))

    first, second = spawn(both()).result(timeout=TIMEOUT_S)
    in_order = [texts(sorted(replies, key=lambda reply: reply.index)) for replies in (first, second)]
    assert in_order[0] == texts(ask(engine, PROMPTS[:15]))
    assert in_order[1] == texts(ask(engine, PROMPTS[15:], max_tokens=3))


@pytest.mark.cells(3)
@everywhere()
@pytest.mark.parametrize("way", ["cancelled", "left"])
def test_a_relquery_given_up_half_way_leaves_an_idle_engine(engine, way):
    expected = texts(ask(engine, PROMPTS[:3]))

    async def leave():
        async with aclosing(engine.answer(submission_of(PROMPTS * 20, max_tokens=100))) as stream:
            async for _ in stream:
                if way == "left":
                    break

    future: Future[None] = spawn(leave())
    if way == "cancelled":
        time.sleep(0.5 if not isinstance(engine, (ScriptedEngine, Metered)) else 0.01)
        future.cancel()
    else:
        future.result(timeout=TIMEOUT_S)
    wait_until(lambda: not num_unfinished(engine))
    assert texts(ask(engine, PROMPTS[:3])) == expected


@everywhere(scripted="there is no chance in it")
def test_a_seed_makes_chance_repeatable(engine):
    sampling = dict(temperature=1.5, top_p=0.95, max_tokens=16)
    first, again, other = (texts(ask(engine, PROMPTS[:10], seed=seed, **sampling)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.vllm
@pytest.mark.parametrize("remote_engine", REMOTE, indirect=True)
def test_local_and_http_give_the_same_greedy_answers(local_engine, remote_engine):
    digits = Grammar(regex="[0-9]{1,3}")
    for fields in ({}, {"max_tokens": 40}, {"grammar": Grammar(choices=DISHES)}, {"grammar": digits}):
        local = ask(local_engine, PROMPTS[:20], "Judge.", **fields)
        remote = ask(remote_engine, PROMPTS[:20], "Judge.", **fields)
        assert texts(local) == texts(remote)
        assert [r.usage.prompt_tokens for r in local] == [r.usage.prompt_tokens for r in remote]


@pytest.mark.vllm
@pytest.mark.parametrize("remote_engine", REMOTE, indirect=True)
def test_local_and_http_give_the_same_probabilities(local_engine, remote_engine):
    for kind in (ChoiceAnswer(("positive", "negative")), ChoiceAnswer(("yes", "no"))):
        prompts = [f"{kind.instruction}\n{prompt}" for prompt in PROMPTS[:20]]  # as typed calls ask
        both = (
            ask(each, prompts, grammar=kind.grammar, with_confidence=True)
            for each in (local_engine, remote_engine)
        )
        local, remote = ([reply.confidence for reply in replies] for replies in both)
        assert local == pytest.approx(remote, abs=0.01)
    read = (
        ask(each, prompts, grammar=kind.grammar, max_tokens=1, read="label")
        for each in (local_engine, remote_engine)
    )
    local, remote = ([reply.probabilities[0] for reply in replies] for replies in read)
    assert local == pytest.approx(remote, abs=0.01)
