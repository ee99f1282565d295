"""Caps count a row of a batch when it is sent, by what it is expected to take, and never a second time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from asking import ask, collect, submission_of
from batch_server import BatchServer, refused, serving

import relserve
from relserve.cache.kept_batches import FILE_NAME, SENDING, BatchBook, RowCount
from relserve.call.relquery import Reply
from relserve.engines.batch.engine import BatchEngine
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineError, EngineStartError, FailureKind, QuotaError, SpendingError
from relserve.server.users.metered import metered
from relserve.server.users.quota import Quota
from relserve.server.users.users import User
from relserve.session.capped_engine import CappedEngine
from relserve.session.caps import Limits, SpendingCap
from tests.waiting import PATIENCE_S

PROMPTS = [f"What is number {i}?" for i in range(20)]
MOODS = "SELECT llm_classify('{} of {{}}?', i, choices := ['good', 'bad']) FROM range({}) t(i) ORDER BY i"
PRICES = '["batch:{0}#made-up"]\ninput = 1.0\noutput = 2.0\n'

pytestmark = pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.delenv("RELSERVE_KEEP_LEARNT", raising=False)
    with serving(BatchServer()) as one:
        (tmp_path / "prices.toml").write_text(PRICES.format(one.url), encoding="utf-8")
        yield one
    relserve.close_engines()


@pytest.fixture
def engine(server: BatchServer, tmp_path: Path) -> Iterator[Callable[[], BatchEngine]]:
    """engine(): one as a new process has it."""
    made: list[BatchEngine] = []

    def make() -> BatchEngine:
        made.append(BatchEngine(HttpEngine(server.url, max_retries=0), tmp_path))
        return made[-1]

    yield make
    for one in made:
        spawn(one.close()).result(PATIENCE_S)


def num_rows(cap: SpendingCap) -> float:
    return cap.spent.rows


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", ["max_rows", "max_tokens_total", "max_cost"])
def test_what_waits_in_a_batch_counts_and_its_answers_count_no_more(server, name):
    model = f"batch:{server.url}#made-up"
    with relserve.connect(model=model, progress=False) as open_con:
        likely = open_con.explain_llm(MOODS.format("Mood", 10)).calls[0].likely
    whole = {"max_rows": 10, "max_tokens_total": likely.tokens, "max_cost": likely.cost}[name]
    cap = round(whole * 1.2, None if name != "max_cost" else 9)
    with relserve.connect(model=model, progress=False, **{name: cap}) as con:
        con.execute(MOODS.format("Mood", 10))
        with pytest.raises(SpendingError, match=f"the connection is {name}"):
            con.execute(MOODS.format("Tone", 10))
        con.execute(MOODS.format("Mood", 10))
        server.end_batches()
        for _ in range(2):
            assert None not in {mood for (mood,) in con.execute(MOODS.format("Mood", 10)).fetchall()}
        with pytest.raises(SpendingError, match=f"the connection is {name}"):
            con.execute(MOODS.format("Tone", 10))
    assert sum(server.answered.values()) == 10


@pytest.mark.cells(1)
@pytest.mark.parametrize("status", ["expired", "failed"])
def test_rows_that_the_server_left_unanswered_are_sent_again_and_not_counted_again(server, engine, status):
    cap = SpendingCap(Limits(rows=20), "x")

    def asked():
        return ask(CappedEngine(engine(), [cap], None), PROMPTS)

    asked()
    server.end_batches("expired", most=8)
    if status == "failed":
        (batch,) = server.batches.values()
        batch |= {"status": "failed", "errors": {"data": [{"message": "limit"}]}}
        asked()
    asked()
    server.end_batches()
    assert [reply.failure for reply in asked()] == [None] * 20
    assert num_rows(cap) == 20
    assert server.answered == dict.fromkeys(PROMPTS, 1)


def test_rows_that_expired_and_then_could_not_be_sent_are_in_no_batch_and_not_counted_again(server, engine):
    cap = SpendingCap(Limits(rows=20), "x")
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    server.end_batches("expired", most=8)
    server.takes_files = False
    came: list[Reply] = []

    async def asked() -> None:
        async for replies in CappedEngine(engine(), [cap], None).answer(submission_of(PROMPTS)):
            came.extend(replies)

    with pytest.raises(EngineStartError, match="takes no batches"):
        spawn(asked()).result(PATIENCE_S)
    assert [reply.failure for reply in came] == [None] * 9  # the first one, and eight of the batch
    server.takes_files = True
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    server.end_batches()
    assert [reply.failure for reply in ask(CappedEngine(engine(), [cap], None), PROMPTS)] == [None] * 20
    assert num_rows(cap) == 20
    assert server.answered == dict.fromkeys(PROMPTS, 1)


def test_rows_of_a_batch_that_the_server_turns_out_not_to_have_are_not_counted_again(server, engine):
    cap = SpendingCap(Limits(rows=20), "x")
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    server.batches.clear()
    book = engine().book
    book.put(replace(book.batches()[0], state=SENDING, server_id=None))  # as if its creation was cut off
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    server.end_batches()
    assert [reply.failure for reply in ask(CappedEngine(engine(), [cap], None), PROMPTS)] == [None] * 20
    assert num_rows(cap) == 20


def test_rows_of_a_batch_that_is_forgotten_by_hand_count_again(server, engine):
    cap = SpendingCap(Limits(rows=100), "x")
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    book = engine().book
    book.give_up(book.batches()[0], "by hand", counts_again=True)
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    assert num_rows(cap) == 20 + 19  # but for the first one, which was answered at once


def test_a_row_that_the_server_refuses_counts_each_time_that_it_is_asked(server, engine):
    cap = SpendingCap(Limits(rows=100), "x")
    server.answer = lambda body: refused(400, "flagged")
    server.takes_chats = False
    for times in (1, 2):
        ask(CappedEngine(engine(), [cap], None), PROMPTS)
        server.end_batches()
        ask(CappedEngine(engine(), [cap], None), PROMPTS)
        assert num_rows(cap) == 20 * times


def test_rows_of_a_client_that_went_while_it_sent_them_count_when_they_are_found(server, engine):
    cap = SpendingCap(Limits(rows=20), "x")
    server.holds = {"/batches"}
    gone = spawn(collect(CappedEngine(engine(), [cap], None), submission_of(PROMPTS)))
    assert server.held.wait(PATIENCE_S)
    gone.cancel()
    server.holds = set()
    for _ in range(2):
        ask(CappedEngine(engine(), [cap], None), PROMPTS)
        assert num_rows(cap) == 20


def test_rows_of_a_client_that_goes_while_it_is_written_that_they_are_counted_are_counted(
    server, engine, monkeypatch
):
    cap, count = SpendingCap(Limits(rows=20), "x"), BatchBook.count
    is_written, has_gone = threading.Event(), threading.Event()

    def slow_count(book: BatchBook, counted: Mapping[bytes, RowCount]) -> None:
        count(book, counted)
        is_written.set()
        assert has_gone.wait(PATIENCE_S)

    monkeypatch.setattr(BatchBook, "count", slow_count)
    gone = spawn(collect(CappedEngine(engine(), [cap], None), submission_of(PROMPTS)))
    assert is_written.wait(PATIENCE_S)
    gone.cancel()
    has_gone.set()
    ask(CappedEngine(engine(), [cap], None), PROMPTS)
    assert num_rows(cap) == 20


def test_a_quota_counts_a_row_when_it_is_sent_and_its_answer_no_more(server, engine):
    ann, quota = User("ann", tokens_per_hour=390), Quota(lambda: 1000.0)

    def asked() -> list[Reply]:
        return ask(metered(engine(), ann, quota), PROMPTS)

    waiting = asked()
    used = quota.used("ann")
    assert used == 12 + 19 * (4 + 8 + 8)  # of the first one, which was answered at once
    assert {reply.failure.kind for reply in waiting[1:]} == {FailureKind.IN_BATCH}
    with pytest.raises(QuotaError, match="used the 390 tokens"):
        ask(metered(engine(), ann, quota), ["What else?"])
    server.end_batches()
    assert [reply.failure for reply in asked()] == [None] * 20  # though the tokens are used up
    assert quota.used("ann") == used


def test_a_quota_holds_rows_of_a_batch_back(server, engine):
    ann, quota = User("ann", tokens_per_hour=100), Quota(lambda: 1000.0)
    with pytest.raises(QuotaError, match="used the 100 tokens"):
        ask(metered(engine(), ann, quota), PROMPTS)
    server.end_batches()
    assert 100 <= quota.used("ann") < 200
    assert 1 < sum(server.answered.values()) < 10


def test_a_user_with_a_quota_is_told_what_to_mend_where_the_record_is_damaged(engine, tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 100)
    with pytest.raises(EngineError, match=r"cannot be put on record .*mend the folder"):
        ask(metered(engine(), User("ann", tokens_per_hour=390), Quota(lambda: 1000.0)), PROMPTS)
