"""The session with an answer cache: what is asked again, and what is kept when a query ends early."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME, CacheEntry, Store
from relserve.call.answer_types import Grammar
from relserve.call.options import Options
from relserve.call.relquery import RelQuery, Sampling, Submission
from relserve.call.reply_keys import keys_of
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, by_hash, echo
from relserve.errors import Cancelled, EngineDeadError, EngineStartError, Failure, FailureKind, RowError
from relserve.session.estimate import Estimate
from relserve.session.folding import fold_rows
from relserve.session.history import QueryRecord
from relserve.session.session import Session
from tests.waiting import PATIENCE_S, Limit, act_when

New = Callable[[], Session]


def relquery(values: list[str | None], function: str = "llm", **options: object) -> RelQuery:
    binding = Template.parse("say {}").bind(1)
    return RelQuery(function, binding, [(v,) for v in values], Options(**options))  # type: ignore[arg-type]


def numbers(n: int) -> list[str | None]:
    return [str(i) for i in range(n)]


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(echo, chunk=10, identity="the model")


@pytest.fixture
def new(tmp_path: Path, engine: ScriptedEngine) -> Iterator[New]:
    """A session as a new process would have it: a cache object of its own on the same file."""
    caches: list[AnswerCache] = []

    def session() -> Session:
        for cache in caches:
            assert cache.flush(PATIENCE_S)
        caches.append(AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail))
        return Session(lambda model: engine, cache=caches[-1])

    yield session
    for cache in caches:
        cache.close()


def last(session: Session) -> QueryRecord:
    return session.history.queries()[-1]


def test_the_same_query_again_asks_nothing(new: New, engine: ScriptedEngine) -> None:
    first = new().run(relquery([*numbers(100), None, "1"]))
    session = new()
    assert session.run(relquery([*numbers(100), None, "1"])).values == first.values
    assert (engine.num_prompts, len(engine.submissions)) == (100, 1), "the engine was asked again"
    record = last(session)
    assert (record.num_distinct, record.num_done, record.num_cached, record.usage) == (
        100,
        100,
        100,
        (0, 0, 0, 0),
    )
    assert session.history.queries_table().to_pylist()[0]["cached_answers"] == 100


def test_only_rows_without_an_answer_are_asked_and_answers_stay_in_order(
    new: New, engine: ScriptedEngine
) -> None:
    new().run(relquery(["3", "1", "4"]))
    session = new()
    assert session.run(relquery(["0", "1", None, "2", "3", "4", "5", "1"])).values == [
        "say 0", "say 1", None, "say 2", "say 3", "say 4", "say 5", "say 1"
    ]  # fmt: skip
    assert list(engine.submissions[-1].prompts) == ["say 0", "say 2", "say 5"]
    assert (last(session).num_cached, last(session).num_done) == (3, 6)


@pytest.mark.parametrize("function", ["llm_filter", "llm_score"])
def test_typed_answers_come_back_as_their_type(new: New, engine: ScriptedEngine, function: str) -> None:
    engine.script = by_hash
    first = new().run(relquery(numbers(50), function))
    assert new().run(relquery(numbers(50), function)).values == first.values
    assert engine.num_prompts == 50


@pytest.mark.parametrize("change", [
    dict(system="be brief"), dict(max_tokens=7), dict(stop=(".",)), dict(choices=("say 0", "say 1")),
])  # fmt: skip
def test_what_shapes_a_reply_is_part_of_the_key(
    new: New, engine: ScriptedEngine, change: dict[str, object]
) -> None:
    new().run(relquery(numbers(2)))
    new().run(relquery(numbers(2), **change))
    assert engine.num_prompts == 4


def test_another_model_is_asked_anew(new: New, engine: ScriptedEngine) -> None:
    new().run(relquery(numbers(2)))
    engine.identity = "the model, trained further"
    new().run(relquery(numbers(2)))
    assert engine.num_prompts == 4


def test_random_sampling_is_neither_kept_nor_found(new: New, engine: ScriptedEngine) -> None:
    new().run(relquery(numbers(2), temperature=0.5))
    new().run(relquery(numbers(2), temperature=0.5))
    assert engine.num_prompts == 4


def test_an_engine_that_does_not_tell_its_model_is_always_asked(new: New, engine: ScriptedEngine) -> None:
    engine.identity = None
    new().run(relquery(numbers(2)))
    new().run(relquery(numbers(2)))
    assert engine.num_prompts == 4


def test_failures_are_never_kept(new: New, engine: ScriptedEngine) -> None:
    engine.script = lambda prompt, submission: "perhaps" if prompt.endswith("1") else "yes"
    engine.max_prompt_chars = 200
    query = relquery(["0", "1", "x" * 200], "llm_filter")
    assert new().run(query).values == [True, None, None]
    engine.script, engine.max_prompt_chars = by_hash, 10_000
    session = new()
    assert None not in session.run(query).values
    assert (last(session).num_cached, last(session).num_done) == (1, 3)


def test_a_kept_reply_that_no_longer_parses_is_asked_again(new: New, engine: ScriptedEngine) -> None:
    session, query = new(), relquery(["0"], "llm_filter")
    assert session.cache is not None
    (key,) = keys_of(
        "the model", Submission("r", query.prompts(), Sampling(5, grammar=query.site.answer_type.grammar))
    )
    engine.script = by_hash
    session.run(query)
    assert session.cache.find("the model", [key]), "this is not the key of that row"
    session.cache.keep([CacheEntry(key, "the model", "scripted", "perhaps", 1, 1)])
    again = new()
    assert None not in again.run(query).values
    assert (engine.num_prompts, last(again).num_cached) == (2, 0)


def test_cancel_keeps_what_came_before(new: New, engine: ScriptedEngine) -> None:
    engine.stalls_after = 300
    cancel = threading.Event()
    act_when(lambda: engine.num_answered == 300, cancel.set)
    with pytest.raises(Cancelled):
        new().run(relquery(numbers(2000)), cancel)
    engine.stalls_after, came = None, engine.num_answered
    session = new()
    session.run(relquery(numbers(2000)))
    assert 0 < last(session).num_cached <= came
    assert came - last(session).num_cached <= 3 * engine.chunk, "only what was under way may be lost"
    assert len(engine.submissions[-1].prompts) == 2000 - last(session).num_cached


def test_ctrl_c_keeps_what_came_before(new: New, engine: ScriptedEngine) -> None:
    engine.stalls_after = 300

    def interrupt(record: QueryRecord) -> None:
        if record.num_done >= 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        new().run(relquery(numbers(2000)), progress=interrupt)
    engine.stalls_after = None
    session = new()
    session.run(relquery(numbers(2000)))
    assert last(session).num_cached == 300


def test_a_row_that_fails_the_query_does_not_take_the_others_along(new: New, engine: ScriptedEngine) -> None:
    engine.script = lambda p, s: Failure(FailureKind.REFUSED, "no") if p == "say 55" else p
    with pytest.raises(RowError):
        new().run(relquery(numbers(100), on_error="raise"))
    engine.script = echo
    session = new()
    session.run(relquery(numbers(100)))
    assert last(session).num_cached >= 59, "its batch was 50 to 59"


def test_an_engine_that_dies_leaves_its_answers(new: New, engine: ScriptedEngine) -> None:
    engine.dies_after = 37
    with pytest.raises(EngineDeadError):
        new().run(relquery(numbers(100)))
    engine.dies_after = None
    session = new()
    session.run(relquery(numbers(100)))
    assert last(session).num_cached == 37
    assert list(engine.submissions[-1].prompts) == sorted(f"say {i}" for i in range(100))[37:]


def test_a_query_repeated_at_once_needs_no_wait_for_the_disk(new: New, engine: ScriptedEngine) -> None:
    session = new()
    for _ in range(3):
        session.run(relquery(numbers(500)))
    assert engine.num_prompts == 500


def test_progress_begins_with_what_was_kept(new: New) -> None:
    new().run(relquery(numbers(25)))
    seen: list[tuple[int, int]] = []
    new().run(
        relquery(numbers(45)), progress=lambda record: seen.append((record.num_done, record.num_cached))
    )
    assert seen == [(25, 25), (35, 25), (45, 25)]


class Changing(ScriptedEngine):
    """Its model is another one by the time that it answers, as where a hub id was fetched anew."""

    async def fingerprint(self) -> str | None:
        return "new" if self.submissions else "old"


def test_answers_are_kept_under_the_model_that_gave_them(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    engine: ScriptedEngine = Changing(echo)
    Session(lambda model: engine, cache=cache).run(relquery(numbers(5)))
    assert {entry.fingerprint for entry in cache._pending.values()} <= {"new"}
    assert cache.flush(PATIENCE_S)
    engine = ScriptedEngine(echo, identity="old")
    Session(lambda model: engine, cache=cache).run(relquery(numbers(5)))
    assert engine.num_prompts == 5
    engine = ScriptedEngine(echo, identity="new")
    Session(lambda model: engine, cache=cache).run(relquery(numbers(5)))
    assert engine.num_prompts == 0
    cache.close()


class Broken(ScriptedEngine):
    async def fingerprint(self) -> str | None:
        raise OSError("the folder is gone")


class Refusing(ScriptedEngine):
    async def fingerprint(self) -> str | None:
        raise EngineStartError("no server answers")


def test_a_fingerprint_that_fails_costs_the_cache_only(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    assert Session(lambda model: Broken(echo), cache=cache).run(relquery(["a"])).values == ["say a"]
    with pytest.raises(EngineStartError):
        Session(lambda model: Refusing(echo), cache=cache).run(relquery(["a"]))
    cache.close()


class Slow(ScriptedEngine):
    async def fingerprint(self) -> str | None:
        await asyncio.sleep(600)
        return "x"


def estimated(session: Session, query: RelQuery, cancel: threading.Event | None = None) -> Estimate:
    return session.estimate(query.site, fold_rows(query.prompts()), cancel)


@pytest.mark.performance
@pytest.mark.parametrize("use", [Session.run, estimated])
def test_cancel_reaches_what_waits_for_the_fingerprint(
    use: Callable[..., object], tmp_path: Path, limit_s: Limit
) -> None:
    cache, cancel = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail), threading.Event()
    threading.Timer(0.1, cancel.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        use(Session(lambda model: Slow(echo), cache=cache), relquery(["a"]), cancel)
    assert time.monotonic() - began < limit_s(1)
    cache.close()


@pytest.mark.parametrize("options", [{"temperature": 0.5}, {"min_confidence": 0.9, "choices": ("a", "b")}])
def test_where_no_answers_are_kept_an_estimate_does_not_say_zero(
    new: New, engine: ScriptedEngine, options: dict[str, object]
) -> None:
    assert estimated(new(), relquery(["a"])).num_cached == 0
    assert estimated(new(), relquery(["a"], **options)).num_cached is None
    engine.identity = None
    assert estimated(new(), relquery(["a"])).num_cached is None


def test_an_estimate_is_no_use_of_an_answer(new: New, tmp_path: Path) -> None:
    new().run(relquery(["a", "b"]))
    assert estimated(new(), relquery(["a", "b"])).num_cached == 2
    new()  # what was counted is written
    with closing(Store(tmp_path / FILE_NAME, 1)) as store:
        store.prepare()
        assert [each.hits for each in store.by_model()] == [0]


def test_keys_differ_wherever_submissions_do() -> None:
    sampling = Sampling(8)
    submissions = [
        Submission("r", ["a"], sampling),
        Submission("r", ["a "], sampling),
        Submission("r", ["\ud83d"], sampling),
        Submission("r", ["a"], sampling, system="a"),
        Submission("r", ["a"], Sampling(9)),
        Submission("r", ["a"], Sampling(8, thinking=512)),
        Submission("r", ["a"], Sampling(8, thinking=513)),
        Submission("r", ["a"], Sampling(8, stop=("a", "b"))),
        Submission("r", ["a"], Sampling(8, stop=("ab",))),
        Submission("r", ["a"], Sampling(8, grammar=Grammar(choices=("a", "b")))),
        Submission("r", ["a"], Sampling(8, grammar=Grammar(choices=("a,b",)))),
        Submission("r", ["a"], Sampling(8, grammar=Grammar(regex="a"))),
    ]
    keys = [keys_of("f", each)[0] for each in submissions] + keys_of("g", submissions[0])
    assert len(set(keys)) == len(keys)
    assert keys_of("f", Submission("another id", ["b", "a"], sampling))[1] == keys[0]


def test_a_salt_keeps_answers_apart(new: New, engine: ScriptedEngine) -> None:
    for salt, num_cached in ((None, 0), ("a", 0), ("a", 3), ("b", 0), (None, 3)):
        session = replace(new(), cache_salt=salt)
        assert estimated(session, relquery(numbers(3))).num_cached == num_cached
        session.run(relquery(numbers(3)))
        assert last(session).num_cached == num_cached
    assert [submission.cache_salt for submission in engine.submissions] == [None, "a", "b"]
