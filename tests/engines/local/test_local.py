"""A local vLLM engine: odd prompts, cancelling, dying and coming back."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import replace

import psutil
import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve import api
from relserve.call.answer_types import Grammar
from relserve.call.phases import phases_of
from relserve.call.relquery import Reply
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.flight import Flight
from relserve.engines.loop import spawn
from relserve.errors import EngineDeadError, EngineStartError, FailureKind
from relserve.session.estimate import estimate
from relserve.session.history import History, QueryRecord
from relserve.session.session import Session
from tests.waiting import frozen, wait_until

pytestmark = pytest.mark.vllm

PROMPTS = [f"Was guest {i} happy with the {dish}?" for i in range(20) for dish in ("soup", "steak", "pie")]
MANY = [f"Was guest {i} happy with the soup? Say why." for i in range(1500)]  # replies may be short: many
LONG = dict(max_tokens=400, temperature=1.0, seed=7)  # busy for seconds; the seed ended vLLM's CPU engine


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What the engine announced."""
    return []


@pytest.fixture(scope="module")
def own_engine(model_path, tmp_path_factory, said):
    """An engine of this file, for tests about starting, dying and closing."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    log = tmp_path_factory.mktemp("local") / "engine.log"
    engine = LocalEngine("tiny", str(model_path), announce=said.append, log_path=log)
    assert engine.pid is None
    yield engine
    spawn(engine.close()).result(timeout=60)


@pytest.fixture
def engine(local_engine):
    return local_engine


def start(engine: LocalEngine, num: int = 1000, **sampling) -> Future[list[Reply]]:
    """A query that keeps the engine busy, once it is under way."""
    asked = spawn(collect(engine, submission_of(MANY[:num], **(LONG | sampling))))
    wait_until(lambda: engine.num_unfinished > 0 or asked.done())
    return asked


def by_index(replies: list[Reply]) -> list[Reply]:
    return sorted(replies, key=lambda reply: reply.index)


def cpu_seconds(pid: int) -> float:
    return sum(psutil.Process(pid).cpu_times()[:2])


@pytest.mark.engine_of_its_own
def test_concurrent_first_queries_start_one_engine(own_engine, said):
    engine = own_engine
    asked = [spawn(collect(engine, submission_of(PROMPTS[:5]))) for _ in range(3)]
    answers = [by_index(a.result(timeout=TIMEOUT_S)) for a in asked]
    assert texts(answers[0]) == texts(answers[1]) == texts(answers[2])
    assert [line.split(" ready")[0] for line in said] == [
        "starting engine for tiny ...",
        "engine for tiny",
    ]


def test_replies_tell_tokens_and_times(engine):
    prompts = [f"{p} It was a long evening with many courses." * 3 for p in PROMPTS]
    replies = ask(engine, prompts, system="Be brief.")
    for reply in replies:
        assert reply.failure is None
        assert reply.usage.prompt_tokens > 10
        assert 1 <= reply.usage.output_tokens <= 8
        t = reply.times
        assert 0 < t.queued_s <= t.scheduled_s < t.first_token_s <= t.last_token_s
    phases = phases_of([r.times for r in replies])
    assert phases.core_s > 0
    again = ask(engine, prompts, system="Be brief.")
    assert texts(again) == texts(replies)
    assert sum(r.usage.cached_tokens for r in again) > 0


def test_an_estimate_is_what_the_engine_counts(engine, model_path):
    lead = "Answer as short as you can, for the answer goes into a table of our guests. "
    asked = submission_of([lead * 4 + prompt for prompt in PROMPTS], "You are brief.")
    spawn(engine.reset_prefix_cache()).result(timeout=TIMEOUT_S)
    replies = spawn(collect(engine, asked)).result(timeout=TIMEOUT_S)
    told, cached, said, _ = map(sum, zip(*(reply.usage for reply in replies), strict=True))
    other = LocalEngine("tiny", str(model_path))  # from the model's files, without being started
    for each in (engine, other):
        found = estimate(each, asked, QueryRecord("r", "llm", "t", "tiny", 60, 60), History(), None)
        assert (found.prompt_tokens, found.is_counted) == (told, True)
        assert found.shared == pytest.approx(cached / told, abs=0.02)
        assert found.max_output_tokens >= said
    assert cached > 0
    assert other.pid is None


def test_the_system_prompt_counts(engine):
    plain, told = ask(engine, PROMPTS[:1])[0], ask(engine, PROMPTS[:1], system="Be brief. " * 20)[0]
    assert told.usage.prompt_tokens > plain.usage.prompt_tokens + 20


@pytest.mark.parametrize(
    ("grammar", "allowed"),
    [
        (Grammar(choices=("yes", "no")), {"yes", "no"}),
        (Grammar(choices=("très bon", "naja 🙃", "no")), {"très bon", "naja 🙃", "no"}),
        (Grammar(regex="[0-9]{1,2}"), {str(i) for i in range(100)} | {f"{i:02}" for i in range(10)}),
    ],
)
def test_grammars_hold(engine, grammar, allowed):
    replies = ask(engine, PROMPTS, grammar=grammar, max_tokens=24, temperature=1.0)
    assert set(texts(replies)) <= allowed


@pytest.mark.parametrize(("max_tokens", "cut"), [(2, True), (40, False)])
def test_a_reply_tells_whether_max_tokens_ended_it(engine, max_tokens, cut):
    replies = ask(engine, PROMPTS[:5], grammar=Grammar(regex="[0-9]{20}"), max_tokens=max_tokens)
    assert [reply.cut for reply in replies] == [cut] * 5


def test_a_hopeless_regex_fails_its_rows_only(engine):
    replies = ask(engine, PROMPTS[:3], grammar=Grammar(regex="(unclosed"))
    assert {r.failure.kind for r in replies} == {FailureKind.REFUSED}
    assert ask(engine, PROMPTS[:1])[0].failure is None
    assert engine.num_unfinished == 0


@pytest.mark.long
def test_odd_prompts_fail_alone_or_not_at_all(engine):
    odd = ["\ud83d", "a\udc00b", "\0", "🦆" * 50, "", "x " * 500_000, "fine"]
    replies = ask(engine, odd, system="\ud83d system")
    kinds = [r.failure.kind if r.failure else None for r in replies]
    assert kinds == [None, None, None, None, None, FailureKind.OVER_CONTEXT, None]
    assert "context holds 4096" in replies[5].failure.message


@pytest.mark.long
def test_a_prompt_fits_up_to_the_last_token(engine):
    room = next(n for n in range(4000, 4096) if tokens_of(engine, "a " * n) >= 4094)
    replies = ask(engine, ["a " * n for n in range(room, room + 4)])
    for reply in replies:
        if reply.failure is None:
            assert reply.usage.prompt_tokens + reply.usage.output_tokens <= 4096
    kinds = {r.failure.kind for r in replies if r.failure}
    assert kinds == {FailureKind.OVER_CONTEXT}
    assert replies[0].failure is None


def tokens_of(engine: LocalEngine, prompt: str) -> int:
    return len(engine._running.encoder.encode([prompt], None)[0])


@pytest.mark.performance
def test_ten_thousand_requests_are_submitted_quickly(engine, monkeypatch, limit_s):
    feed, spent = Flight._feed, []

    async def timed(flight: Flight) -> None:
        before = time.thread_time()  # of the event loop's thread; a busy machine does not count
        await feed(flight)
        spent.append(time.thread_time() - before)

    async def submit() -> None:
        prompts = [f"Guest {i}: {PROMPTS[i % 60]}" for i in range(10_000)]
        asked = asyncio.ensure_future(collect(engine, submission_of(prompts, **LONG)))
        longest = 0.0
        while not spent:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert longest < limit_s(0.5, busy=5), f"the loop was blocked for {longest:.2f} s"

    monkeypatch.setattr(Flight, "_feed", timed)
    gc.collect()
    gc.freeze()  # collecting all that the tests before this one left behind took half a second
    try:
        spawn(submit()).result(timeout=TIMEOUT_S)
    finally:
        gc.unfreeze()
    assert spent[0] < limit_s(2.5)  # 0.5 s was seen, with the replies that come meanwhile


@pytest.mark.performance
@pytest.mark.parametrize("wait_s", [0.0, 0.05, 1.0])
def test_cancelling_aborts_everything_in_one_call(engine, wait_s, monkeypatch, limit_s):
    calls: list[int] = []
    abort = engine._running.client.abort

    async def counted(ids, *args, **kwargs):
        calls.append(len(ids))
        await abort(ids, *args, **kwargs)

    monkeypatch.setattr(engine._running.client, "abort", counted)
    asked = spawn(collect(engine, submission_of(PROMPTS * 20, **LONG)))
    if wait_s:
        wait_until(lambda: engine.num_unfinished > 0)
    time.sleep(wait_s)
    asked.cancel()
    wait_until(lambda: engine.num_unfinished == 0, limit_s(1))
    time.sleep(1)
    spent = cpu_seconds(engine.pid)
    time.sleep(0.5)
    assert cpu_seconds(engine.pid) - spent < 0.2
    assert len(calls) <= 1
    assert ask(engine, PROMPTS[:2])[0].failure is None


def test_leaving_the_stream_early_aborts(engine):
    async def first() -> int:
        async with aclosing(engine.answer(submission_of(PROMPTS * 5, max_tokens=50))) as stream:
            async for replies in stream:
                return len(replies)
        return 0

    assert spawn(first()).result(timeout=TIMEOUT_S) > 0
    assert engine.num_unfinished == 0


def test_what_is_unanswered_at_the_deadline_fails_and_is_aborted(engine):
    ask(engine, PROMPTS[:1])
    began = time.time()
    asked = replace(submission_of(MANY, **LONG), workflow_id="w", stage="s", deadline_s=began + 1)
    replies = Session(lambda model: engine).submit(asked).result()
    assert [reply.index for reply in replies] == list(range(len(MANY)))
    failures = [reply.failure.kind for reply in replies if reply.failure is not None]
    assert set(failures) == {FailureKind.DEADLINE}
    wait_until(lambda: engine.num_unfinished == 0)
    assert ask(engine, PROMPTS[:1])[0].failure is None


@pytest.mark.engine_of_its_own
def test_a_dead_engine_is_restarted_once_for_all(own_engine, said):
    engine = own_engine
    expected = spawn(collect(engine, submission_of(MANY[:150], max_tokens=100))).result(timeout=TIMEOUT_S)
    del said[:]
    pid = engine.pid
    with frozen(pid):
        asked = [spawn(collect(engine, submission_of(MANY[:150], max_tokens=100))) for _ in range(2)]
        wait_until(lambda: [bool(flight.pending) for flight in list(engine._flights)] == [True] * 2)
        os.kill(pid, signal.SIGKILL)
    for a in asked:
        assert texts(by_index(a.result(timeout=TIMEOUT_S))) == texts(by_index(expected))
    assert engine.pid not in (None, pid)
    assert len(said) == 2
    assert said[0].startswith("the engine for tiny died (killed by SIGKILL; out of memory?); its log is ")


@pytest.mark.engine_of_its_own
@pytest.mark.long
def test_two_deaths_in_one_query_raise_and_the_next_works(own_engine):
    engine = own_engine
    ask(engine, PROMPTS[:1])
    first = engine.pid
    with frozen(first):
        asked = start(engine)
        os.kill(first, signal.SIGKILL)
    wait_until(lambda: engine.pid not in (None, first) and engine.num_unfinished > 0)
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(EngineDeadError, match=r"died twice during one query .*SIGKILL.*engine\.log"):
        asked.result(timeout=TIMEOUT_S)
    wait_until(lambda: engine.pid is None)
    assert ask(engine, PROMPTS[:2])[0].failure is None
    assert engine.pid is not None


@pytest.mark.engine_of_its_own
@pytest.mark.performance
def test_closing_under_a_query_ends_it(own_engine, monkeypatch, limit_s):
    engine = own_engine
    monkeypatch.setattr(api.ENGINES, "_engines", {"tiny": engine})
    asked, pid = start(engine), engine.pid
    began = time.monotonic()
    assert api.close_engines("tiny") == ["tiny"]
    with pytest.raises(EngineDeadError, match="was closed while it worked"):
        asked.result(timeout=TIMEOUT_S)
    assert time.monotonic() - began < limit_s(5)
    assert engine.pid is None
    assert not psutil.pid_exists(pid)


@pytest.mark.engine_of_its_own
@pytest.mark.long
def test_a_model_without_a_chat_template_is_said_to_have_none(model_path, tmp_path):
    for file in model_path.iterdir():
        if file.is_file() and file.name != "chat_template.jinja":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    said: list[str] = []
    engine = LocalEngine("base", str(tmp_path), announce=said.append, log_path=tmp_path / "engine.log")
    try:
        assert ask(engine, PROMPTS[:1])[0].failure is None
    finally:
        spawn(engine.close()).result(timeout=60)
    assert len(said) == 3
    assert said[2].startswith("base has no chat template: prompts go to it as they are")
    assert "chat_template.jinja" in said[2]


@pytest.mark.engine_of_its_own
@pytest.mark.long
def test_a_start_that_fails_says_why_and_can_be_tried_again(model_path, tmp_path):
    (tmp_path / "model").mkdir()
    for file in model_path.iterdir():
        if file.is_file():
            (tmp_path / "model" / file.name).write_bytes(file.read_bytes())
    weights = tmp_path / "model" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    engine = LocalEngine("broken", str(tmp_path / "model"), log_path=tmp_path / "engine.log")
    with pytest.raises(
        EngineStartError, match=r"broken did not start: .*[Ss]afetensor.*its log is .*engine.log"
    ) as e:
        ask(engine, ["hi"])
    assert "\n" not in str(e.value)
    assert engine.pid is None


def test_a_folder_without_a_model_is_a_start_error(tmp_path):
    engine = LocalEngine("nothing", str(tmp_path))
    for _ in range(2):
        with pytest.raises(EngineStartError, match=r"nothing did not start: .*config"):
            ask(engine, ["hi"])


def test_an_unknown_engine_argument_is_a_start_error(model_path):
    engine = LocalEngine("tiny", str(model_path), engine_args={"max_modle_len": 5})
    with pytest.raises(EngineStartError, match="max_modle_len"):
        ask(engine, ["hi"])
