"""Rows that are sent as batches: nothing is lost, and none is paid for twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asking import ask, collect, submission_of, texts
from batch_server import HOLDS, BatchServer, by_prompt, prompt_of, refused, serving

from relserve.cache.kept_batches import FILE_NAME, BatchBook, BatchRowState, KeptBatch, KeptRow, LandedRow
from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply
from relserve.engines.batch.engine import BatchEngine
from relserve.engines.batch.rows import parts_of
from relserve.engines.batch.wire import landed_rows
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineError, EngineStartError, FailureKind, OptionError
from tests.waiting import PATIENCE_S

PROMPTS = [f"What is number {i}?" for i in range(20)]
IN_BATCH = FailureKind.IN_BATCH


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with serving(BatchServer()) as one:
        yield one


@pytest.fixture
def engine(server: BatchServer, tmp_path: Path) -> Iterator[Callable[[], BatchEngine]]:
    """engine(): one as a new process has it."""
    made: list[BatchEngine] = []

    def make() -> BatchEngine:
        made.append(BatchEngine(HttpEngine(server.url, max_retries=1), tmp_path))
        return made[-1]

    yield make
    for one in made:
        spawn(one.close()).result(PATIENCE_S)


def kinds(replies: list[Reply]) -> list[FailureKind | None]:
    return [reply.failure.kind if reply.failure else None for reply in replies]


def direct(server: BatchServer, **how: Any) -> list[str | None]:
    """What the same server answers at once; not counted."""
    counted = server.answered.copy()
    engine = HttpEngine(server.url)
    found = texts(ask(engine, PROMPTS, **how))
    spawn(engine.close()).result(PATIENCE_S)
    server.answered = counted
    return found


def test_one_row_is_answered_at_once_and_the_others_once_their_batch_has_ended(server, engine):
    for _ in range(2):
        assert kinds(ask(engine(), PROMPTS)) == [None] + 19 * [IN_BATCH]
    server.end_batches()
    came = ask(engine(), PROMPTS)
    assert texts(came) == direct(server)
    assert [sum(reply.usage) for reply in came] == [0] + 19 * [12]  # the first one's are on record already
    assert not any(sum(reply.usage) for reply in ask(engine(), PROMPTS))
    assert server.answered == dict.fromkeys(PROMPTS, 1)
    (batch,) = server.batches.values()
    assert batch["request_counts"]["total"] == 19


def test_choices_are_read_as_they_were_asked_for(server, engine):
    how = {"grammar": Grammar(choices=("good", "bad", "mixed"))}
    ask(engine(), PROMPTS, **how)
    server.end_batches()
    assert texts(ask(engine(), PROMPTS, **how)) == direct(server, **how)
    assert set(direct(server, **how)) == {"good", "bad", "mixed"}


def test_what_the_server_takes_is_found_out_by_the_first_row(server, engine):
    def answer(body):
        if "max_tokens" in body:
            return refused(400, "Unsupported parameter: use 'max_completion_tokens' instead of 'max_tokens'")
        return by_prompt(body)

    server.answer = answer
    ask(engine(), PROMPTS)
    server.end_batches()
    assert kinds(ask(engine(), PROMPTS)) == [None] * 20
    others = [f"And {prompt}" for prompt in PROMPTS]
    num_before = len(server.at_once)
    assert kinds(ask(engine(), others)) == 20 * [IN_BATCH]  # by now it is known
    server.end_batches()
    assert kinds(ask(engine(), others)) == [None] * 20
    assert len(server.at_once) == num_before


def test_a_server_that_answers_batches_alone_gets_all_rows_in_one(server, engine):
    server.takes_chats = False
    assert kinds(ask(engine(), PROMPTS)) == 20 * [IN_BATCH]
    server.end_batches()
    assert kinds(ask(engine(), PROMPTS)) == 20 * [None]


@pytest.mark.cells(1)
@pytest.mark.parametrize("hold", HOLDS)
def test_a_client_that_goes_between_two_steps_loses_nothing_and_asks_nothing_twice(server, engine, hold):
    if hold == HOLDS[-1]:
        ask(engine(), PROMPTS)
        server.end_batches()
    server.holds = {hold}
    gone = spawn(collect(engine(), submission_of(PROMPTS)))
    assert server.held.wait(PATIENCE_S)
    gone.cancel()
    server.holds = set()
    ask(engine(), PROMPTS)
    server.end_batches()
    assert texts(ask(engine(), PROMPTS)) == direct(server)
    assert server.answered == dict.fromkeys(PROMPTS, 1)
    assert len(server.batches) == 1


def test_a_lost_batch_is_found_on_a_later_page(server, engine):
    for number in range(5):
        ask(engine(), [f"{prompt} {number}" for prompt in PROMPTS])
    server.holds = {"/batches"}
    gone = spawn(collect(engine(), submission_of(PROMPTS)))
    assert server.held.wait(PATIENCE_S)
    gone.cancel()
    server.batches = dict(reversed(server.batches.items()))  # the lost one is the oldest
    server.holds = set()
    ask(engine(), PROMPTS)
    server.end_batches()
    assert kinds(ask(engine(), PROMPTS)) == [None] * 20
    assert set(server.answered.values()) == {1}


def test_where_no_batches_are_listed_a_lost_one_is_not_sent_again_unasked(server, engine):
    server.holds, server.lists = {"/batches"}, False
    gone = spawn(collect(engine(), submission_of(PROMPTS)))
    assert server.held.wait(PATIENCE_S)
    gone.cancel()
    server.holds = set()
    with pytest.raises(EngineError, match=r"lists no batches.*file-0.*`relserve batches forget rb-"):
        ask(engine(), PROMPTS)
    book = engine().book
    book.give_up(book.batches()[0], "forgotten")
    assert kinds(ask(engine(), PROMPTS)) == [None] + 19 * [IN_BATCH]
    assert len(server.batches) == 2


def test_rows_on_which_the_server_failed_go_into_a_further_batch_and_refused_ones_fail(server, engine):
    failing = set(PROMPTS[3:6])

    def answer(body):
        if prompt_of(body) in failing:
            return refused(500, "overloaded")
        return refused(400, "flagged") if prompt_of(body) == PROMPTS[7] else by_prompt(body)

    server.answer = answer
    ask(engine(), PROMPTS)
    server.end_batches()
    second = ask(engine(), PROMPTS)
    expected = {3: IN_BATCH, 4: IN_BATCH, 5: IN_BATCH, 7: FailureKind.REFUSED}
    assert kinds(second) == [expected.get(number) for number in range(20)]
    assert second[7].failure.message == "HTTP 400: flagged"
    failing.clear()
    server.end_batches()
    third = ask(engine(), PROMPTS)
    assert kinds(third) == [IN_BATCH if number == 7 else None for number in range(20)]  # asked again, as ever
    assert [b["request_counts"]["total"] for b in server.batches.values()] == [19, 3, 1]
    assert set(server.answered.values()) == {1}


def test_a_row_on_which_the_server_fails_again_and_again_fails(server, engine):
    server.answer = lambda body: refused(500, "broken") if "number 5" in prompt_of(body) else by_prompt(body)
    for _ in range(3):
        assert kinds(ask(engine(), PROMPTS))[5] is IN_BATCH
        server.end_batches()
    assert ask(engine(), PROMPTS)[5].failure == (FailureKind.ENGINE, "HTTP 500: broken")


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_what_was_answered_before_a_batch_expired_is_kept_and_the_rest_sent_again(server, engine, status):
    ask(engine(), PROMPTS)
    server.end_batches(status, most=8)
    assert kinds(ask(engine(), PROMPTS)) == [None] * 9 + [IN_BATCH] * 11
    server.end_batches()
    assert texts(ask(engine(), PROMPTS)) == direct(server)
    assert server.answered == dict.fromkeys(PROMPTS, 1)
    assert [batch.state for batch in engine().book.batches()] == [status, "completed"]


def test_a_batch_that_the_server_refuses_says_why_and_is_sent_again_by_the_next_statement(server, engine):
    ask(engine(), PROMPTS)
    (batch,) = server.batches.values()
    batch |= {"status": "failed", "errors": {"data": [{"message": "Enqueued token limit reached"}]}}
    failed = ask(engine(), PROMPTS)
    assert failed[1].failure.message == "the server refused the batch: Enqueued token limit reached"
    assert kinds(ask(engine(), PROMPTS)) == [None] + 19 * [IN_BATCH]
    assert len(server.batches) == 2


def test_rows_that_were_asked_before_are_in_one_batch_whoever_asks_them(server, engine):
    both = [spawn(collect(engine(), submission_of(PROMPTS))) for _ in range(2)]
    for future in both:
        assert len(future.result(PATIENCE_S)) == 20
    ask(engine(), [*PROMPTS, "And this?"])
    server.end_batches()
    assert kinds(ask(engine(), [*PROMPTS, "And this?"])) == [None] * 21
    assert set(server.answered.values()) == {1}


def test_a_prompt_that_stands_twice_is_asked_twice(server, engine):
    ask(engine(), ["x", "x", "x"], temperature=1.0)
    server.end_batches()
    assert kinds(ask(engine(), ["x", "x", "x"], temperature=1.0)) == [None] * 3
    assert server.answered["x"] == 3


def test_a_cancelled_batch_keeps_what_it_has(server, engine):
    ask(engine(), PROMPTS)
    one = engine()
    (batch,) = one.book.batches()
    ended = spawn(one.cancel(batch)).result(PATIENCE_S)
    assert (ended.state, ended.answered, ended.has_ended) == ("cancelled", 1, True)


def test_a_batch_that_the_server_has_forgotten_says_how_to_go_on(server, engine):
    ask(engine(), PROMPTS)
    server.batches.clear()
    with pytest.raises(EngineError, match=r"knows no batch batch_0 any more.*`relserve batches forget rb-"):
        ask(engine(), PROMPTS)


def test_a_server_without_batches_is_said(server, engine):
    server.takes_files = False
    with pytest.raises(EngineStartError, match=r"takes no batches .*name it without batch:"):
        ask(engine(), PROMPTS)


def test_rows_for_which_a_cap_leaves_no_room_beside_the_batch_are_held_back(server, engine):
    left = iter(range(5))

    async def may_send(prompt):
        if next(left, None) is None:
            await asyncio.Event().wait()
        return ""

    asked = replace(submission_of(PROMPTS), may_send=may_send)
    came = sorted(spawn(collect(engine(), asked)).result(PATIENCE_S), key=lambda reply: reply.index)
    assert kinds(came) == [None] + 4 * [IN_BATCH] + 15 * [FailureKind.CAP]
    (batch,) = server.batches.values()
    assert batch["request_counts"]["total"] == 4
    assert kinds(ask(engine(), PROMPTS)) == [None] + 19 * [IN_BATCH]


def test_vectors_are_not_sent_as_batches(server, engine):
    with pytest.raises(OptionError, match="llm_embed"):
        ask(engine(), PROMPTS, embeds=True)


def test_without_a_record_nothing_is_sent(server, engine, tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 100)
    with pytest.raises(EngineError, match="could be paid twice"):
        ask(engine(), PROMPTS)
    assert not server.batches


def test_the_record_has_no_prompts_and_is_its_owners_alone(server, engine, tmp_path):
    ask(engine(), PROMPTS)
    path = tmp_path / FILE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"number 7" not in path.read_bytes()
    with sqlite3.connect(path) as db:
        (dialect,) = db.execute("SELECT dialect FROM batches").fetchone()
    assert json.loads(dialect)["max_tokens_field"] == "max_tokens"


def test_rows_are_divided_as_servers_take_them():
    assert parts_of([1] * 5, 2, 100) == [range(0, 2), range(2, 4), range(4, 5)]
    assert parts_of([6, 6, 20, 1], 9, 12) == [range(0, 2), range(2, 3), range(3, 4)]
    assert parts_of([], 1, 1) == []


def test_of_the_lines_that_came_the_first_of_a_row_counts_and_what_cannot_be_read_does_not():
    batch = KeptBatch("rb-1", "m", "s", "", "k", "{}", 3, state="completed")
    rows = [KeptRow(b"%d" % number, batch.id, number, BatchRowState.SENT) for number in range(3)]

    def line(number: int, body: object) -> bytes:
        response = {"status_code": 200, "body": body}
        return json.dumps({"custom_id": f"rb-1-{number}", "response": response}).encode()

    lines = [line(1, "a"), b"\n", b"{", line(1, "b"), line(9, "c"), line(0, "d")]
    came = list(landed_rows(batch, lines, rows))
    assert [(row.key, row.reply) for row in came[:2]] == [(b"1", '"a"'), (b"0", '"d"')]
    assert (came[2].key, came[2].state) == (b"2", BatchRowState.FAILED)


def test_while_the_record_is_locked_other_relqueries_go_on(server, engine, tmp_path, monkeypatch):
    monkeypatch.setattr("relserve.cache.kept_batches.WAIT_S", 600.0)
    ask(engine(), PROMPTS)
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waiting = spawn(collect(engine(), submission_of(PROMPTS)))
        for _ in range(20):
            spawn(asyncio.sleep(0.01)).result(PATIENCE_S)
    assert len(waiting.result(PATIENCE_S)) == 20


def test_to_keep_what_came_of_a_batch_takes_as_long_as_it_has_rows(tmp_path, monkeypatch):
    """Nobody else can read the record meanwhile; a batch may have 50,000 rows."""
    steps = Counter[int]()
    connect = sqlite3.connect

    def counting(num: int, *args: Any, **more: Any) -> sqlite3.Connection:
        db = connect(*args, **more)
        db.set_progress_handler(lambda: steps.update([num]), 100)  # of SQLite's machine
        return db

    for num in (200, 2000):
        monkeypatch.setattr(sqlite3, "connect", partial(counting, num))
        book, batch = BatchBook(tmp_path / str(num)), KeptBatch("rb-1", "m", "s", "", "k", "{}", num)
        rows = [KeptRow(b"%d" % number, batch.id, number, BatchRowState.SENT) for number in range(num)]
        book.begin(batch, rows)
        landed = book.land(batch, [LandedRow(row.key, BatchRowState.ANSWERED, 0, "x") for row in rows])
        assert landed.answered == num
    assert steps[2000] < 20 * steps[200]
