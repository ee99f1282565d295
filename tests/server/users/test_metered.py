"""Engines as one user has them: their models, their tokens of an hour."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import relserve
from relserve.api import new_session
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.protocol import Estimable
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError, Failure, FailureKind, ForbiddenError, ModelError, QuotaError
from relserve.server.users.metered import metered, metered_finder
from relserve.server.users.quota import Quota
from relserve.server.users.users import User
from relserve.session.caps import Amounts, Limits, SpendingCap
from relserve.session.session import Session
from relserve.settings import load
from tests.waiting import PATIENCE_S

ASKED = "SELECT llm('Number {}', a, max_tokens := 100) FROM t"


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def quota(clock):
    return Quota(clock)


def connection(engine, user, quota):
    """A connection whose calls go to the engine as the user has it."""
    con = relserve.connect(engine=metered(engine, user, quota), cache=False, progress=False)
    con.execute("CREATE TABLE t AS SELECT range AS a FROM range(100)")
    return con


def test_tokens_of_prompts_and_replies_count(quota):
    with connection(ScriptedEngine(), User("ann"), quota) as con:
        con.execute("SELECT llm('Number {}', a) FROM t").fetchall()
        (used,) = con.execute("SELECT prompt_tokens + output_tokens FROM llm_queries()").fetchone()
    assert quota.used("ann") == used > 100
    assert quota.used("bob") == 0


def test_the_engine_is_told_whose_rows_they_are(quota):
    engine = ScriptedEngine()
    with connection(engine, User("ann"), quota) as con:
        con.execute("SELECT llm('Number {}', a) FROM t").fetchall()
    assert {submission.user for submission in engine.submissions} == {"ann"}


def test_a_query_stops_when_the_tokens_are_used_up(quota, clock):
    engine = ScriptedEngine(chunk=10)
    with connection(engine, User("ann", tokens_per_hour=200), quota) as con:
        with pytest.raises(QuotaError, match=r"used the 200 tokens of an hour; more .* in 60 min 10 s"):
            con.execute("SELECT llm('Number {}', a) FROM t").fetchall()
        assert 0 < engine.num_answered < 100
        assert engine.num_prompts == engine.num_answered  # nothing is asked in vain
        answered = engine.num_answered
        with pytest.raises(QuotaError) as refused:
            con.execute("SELECT llm('Other {}', a) FROM t LIMIT 1").fetchall()
        assert engine.num_answered == answered
        clock.now += refused.value.wait_s
        assert len(con.execute("SELECT llm('Other {}', a) FROM t LIMIT 1").fetchall()) == 1


def test_each_user_has_their_own_tokens(quota):
    engine = ScriptedEngine()
    for name in ("ann", "bob"):
        with connection(engine, User(name, tokens_per_hour=8), quota) as con:
            assert con.execute("SELECT llm('Number {}', a) FROM t LIMIT 1").fetchone()
            with pytest.raises(QuotaError):
                con.execute("SELECT llm('Again {}', a) FROM t LIMIT 1").fetchone()


def test_the_last_row_may_use_more_than_is_left(quota):
    engine = ScriptedEngine()
    with connection(engine, User("ann", tokens_per_hour=10), quota) as con:
        with pytest.raises(QuotaError, match="used the 10 tokens"):
            con.execute("SELECT llm('Number {}', a) FROM t").fetchall()
    assert [len(each.prompts) for each in engine.submissions] == [1] * engine.num_answered
    assert 10 <= quota.used("ann") < 30


def sent(engine):
    """How many rows each submission had."""
    return [len(each.prompts) for each in engine.submissions]


def test_rows_are_sent_as_far_as_the_most_that_they_may_take_fits(quota):
    engine = ScriptedEngine()
    plain = [text for (text,) in connection(ScriptedEngine(), User("x"), quota).execute(ASKED).fetchall()]
    with connection(engine, User("ann", tokens_per_hour=3000), quota) as con:
        assert [text for (text,) in con.execute(ASKED).fetchall()] == plain
    used, most, tokens = 0, 100 + 20, quota.used("ann") / 100
    for rows in sent(engine):
        assert rows <= (3000 - used) / 100 + 1
        used += tokens * rows
    assert len(sent(engine)) > 2
    assert sum(sent(engine)) == 100
    assert quota.claim("ann", (None, 3000, None), [most]) == 1  # nothing is claimed any more


def test_statements_beside_each_other_do_not_spend_the_same_tokens(quota):
    engine, user = ScriptedEngine(chunk=1, pause_s=0.001), User("ann", tokens_per_hour=1000)
    failed = []

    def ask():
        with connection(engine, user, quota) as con:
            try:
                con.execute(ASKED).fetchall()
            except QuotaError as error:
                failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed
    assert 1000 <= quota.used("ann") <= 1000 + 120


def test_rows_wait_for_what_others_have_claimed(quota):
    engine, limits = ScriptedEngine(), (None, 1000, None)
    assert quota.claim("ann", limits, [2000]) == 1
    with connection(engine, User("ann", tokens_per_hour=1000), quota) as con:
        thread = threading.Thread(target=lambda: con.execute(f"{ASKED} LIMIT 1").fetchall())
        thread.start()
        assert not engine.submissions
        quota.release("ann", 2000)
        thread.join(60)
    assert sent(engine) == [1]


def test_a_row_that_fails_claims_nothing_for_long(quota):
    engine = ScriptedEngine(dies_after=5, chunk=5)
    with connection(engine, User("ann", tokens_per_hour=100_000), quota) as con:
        with pytest.raises(EngineDeadError):
            con.execute(ASKED).fetchall()
    assert quota.claim("ann", (None, quota.used("ann") + 1, None), [1, 1]) == 1


def test_no_tokens_at_all(quota):
    with connection(ScriptedEngine(), User("ann", tokens_per_hour=0), quota) as con:
        with pytest.raises(QuotaError, match="may use no tokens"):
            con.execute("SELECT llm('Number {}', a) FROM t").fetchall()
        assert con.execute("SELECT count(*) FROM t").fetchone() == (100,)


@pytest.mark.parametrize(
    ("user", "allowed", "refused"),
    [
        (User("ann"), [None], ["scripted", "tiny", "http://127.0.0.1:9", "/etc"]),
        (User("ann", models=frozenset()), [], [None, "scripted"]),
        (User("ann", models=frozenset(["scripted"])), [None, "scripted"], ["tiny", "org/name"]),
        (User("ann", models=frozenset(["tiny"])), ["tiny"], [None, "scripted"]),
        (User("root", is_admin=True), [None, "scripted", "tiny"], []),
        (User("root", is_admin=True, models=frozenset(["tiny"])), ["tiny"], [None, "scripted"]),
    ],
)
def test_which_models_a_user_may_ask(quota, user, allowed, refused):
    looked_for = []

    def find(name):
        looked_for.append(name)
        return ScriptedEngine(model=name or "scripted")

    find_theirs = metered_finder(find, user, quota)
    for name in allowed:
        assert find_theirs(name).model == (name or "scripted")
    looked_for.clear()
    for name in refused:
        with pytest.raises(ForbiddenError, match="may not ask the model"):
            find_theirs(name)
    assert set(looked_for) <= {None}  # nothing looks for a model, which may be a URL, that is not theirs


@pytest.mark.parametrize(
    ("models", "default", "is_allowed"),
    [
        (None, "tiny", True),
        (None, "scripted", False),
        (frozenset(["tiny"]), "tiny", False),
        (frozenset(["tiny-sql"]), "scripted", True),
    ],
)
def test_the_embedded_sql_model_belongs_to_the_embedded_default(quota, models, default, is_allowed):
    find = metered_finder(
        lambda name: ScriptedEngine(model=name or default), User("ann", models=models), quota
    )
    if is_allowed:
        assert find("tiny-sql").model == "tiny-sql"
    else:
        with pytest.raises(ForbiddenError, match="may not ask the model 'tiny-sql'"):
            find("tiny-sql")


def test_word_vectors_belong_to_every_server(quota):
    find = metered_finder(lambda name: ScriptedEngine(model=name or "other"), User("ann"), quota)
    assert find("wordllama").model == "wordllama"


def test_a_call_in_sql_meets_the_same(quota):
    found = new_session(load(), model="scripted")
    find = metered_finder(found.find_engine, User("ann"), quota)
    con = relserve.connect(model="scripted", cache=False, progress=False)
    con.session.find_engine = find
    with con:
        assert con.execute("SELECT llm('Hello')").fetchone()
        with pytest.raises(ForbiddenError, match="may not ask the model 'tiny', only the server's own"):
            con.execute("SELECT llm('Hello', model := 'tiny')").fetchone()
        explained = con.execute(
            "EXPLAIN SELECT llm('Hello {}', a, model := 'http://127.0.0.1:9') FROM (SELECT 1 a)"
        )
        assert "may not ask the model 'http://127.0.0.1:9'" in explained.fetchall()[-1][1]


def test_a_model_that_is_allowed_may_still_not_be_there(quota):
    session = Session(new_session(load(), model="scripted").find_engine)
    find = metered_finder(session.find_engine, User("ann", models=frozenset(["/nowhere"])), quota)
    with pytest.raises(ModelError):
        find("/nowhere")


def test_what_can_be_estimated_still_can(quota):
    local = LocalEngine("tiny", "/nowhere", engine_args={"max_num_seqs": 8})
    both = metered(local, User("ann"), quota), metered(ScriptedEngine(), User("ann"), quota)
    assert [isinstance(each, Estimable) for each in both] == [True, False]
    assert both[0].max_num_seqs == 8
    assert (both[0].block_size, both[0].find_encoder()) == (local.block_size, local.find_encoder())


def test_closing_it_leaves_the_engine_to_the_others(quota):
    closed = []
    engine = ScriptedEngine()
    engine.close = lambda: closed.append(True)
    spawn(metered(engine, User("ann"), quota).close()).result(timeout=PATIENCE_S)
    assert not closed


def test_a_stream_that_is_left_ends_that_of_the_engine(quota):
    engine = ScriptedEngine(chunk=1)

    async def take_one():
        stream = metered(engine, User("ann"), quota).answer(Submission("r", ["a", "b", "c"], Sampling(8)))
        async for _ in stream:
            break
        await stream.aclose()

    spawn(take_one()).result(timeout=PATIENCE_S)
    assert engine.aborted == 2


def test_prompts_that_an_engine_has_begun_count_when_their_query_is_left(quota):
    prompts = ["a" * 40, *["b" * 4000] * 999]

    async def take_one(engine):
        stream = metered(engine, User("ann"), quota).answer(Submission("r", prompts, Sampling(8)))
        async for _ in stream:
            break
        await stream.aclose()

    spawn(take_one(ScriptedEngine(chunk=1))).result(timeout=PATIENCE_S)
    of_b = 4000 // 4 + 8
    assert 256 * of_b <= quota.used("ann") <= 257 * of_b  # of those that waited in the engine none

    class Sending(ScriptedEngine):
        """Sends three rows at a time, as a server is asked."""

        asks_before_sending = True

        async def answer(self, submission):
            for prompt in submission.prompts[:3]:
                assert await submission.may_send(prompt) == ""
            async for batch in super().answer(submission):
                yield batch

    before = quota.used("ann")
    spawn(take_one(Sending(chunk=1))).result(timeout=PATIENCE_S)
    assert 2 * of_b <= quota.used("ann") - before <= 3 * of_b

    class HoldingBack(Sending):
        """Answers first those that it may not send."""

        async def answer(self, submission):
            for prompt in submission.prompts[:3]:
                assert await submission.may_send(prompt) == ""
            rest = range(3, len(submission.prompts))
            yield [Reply(n, None, Failure(FailureKind.CAP, "over the cap")) for n in rest]
            async for batch in ScriptedEngine.answer(self, submission.part(range(3), None)):
                yield batch

    before = quota.used("ann")
    spawn(take_one(HoldingBack(chunk=1))).result(timeout=PATIENCE_S)
    assert 2 * of_b <= quota.used("ann") - before <= 3 * of_b


def test_rows_that_wait_for_tokens_keep_no_room_below_a_cap(clock):
    class Asked(Quota):
        """Tells that it was asked."""

        def claim(self, *args):
            count = super().claim(*args)
            asked.set()
            return count

    asked, quota, user = threading.Event(), Asked(clock), User("ann", tokens_per_minute=1000)
    cap, rows = SpendingCap(Limits(rows=100), "a day"), Amounts(rows=100)
    assert quota.claim("ann", user.token_limits, [1000]) == 1  # by a call that waits for room below the cap
    asked.clear()
    with connection(ScriptedEngine(), user, quota) as con, ThreadPoolExecutor(1) as pool:
        con.session.spending.user = lambda: cap
        found = pool.submit(lambda: con.execute("SELECT llm('Number {}', a) FROM t").fetchall())
        assert asked.wait(PATIENCE_S)
        had_room = cap.claim(rows)
        if had_room:
            cap.release(rows)
        quota.release("ann", 1000)
        assert had_room
        assert all(answer is not None for (answer,) in found.result(PATIENCE_S))
    assert cap.spent.rows == 100
