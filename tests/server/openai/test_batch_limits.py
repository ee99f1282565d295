"""What nobody may do by batches: keep the server busy in vain, fill it, get round a limit. None sticks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from relserve.server.openai.batches import runner, service, store
from relserve.server.openai.batches.runner import ROWS_AT_ONCE, BatchRunner, RowReply
from relserve.server.openai.batches.store import BatchStore, StoredBatch, StoredFile, as_line
from relserve.server.users.users import Users
from tests.server.openai.gateways import Running, running
from tests.server.openai.scripted_upstream import ScriptedUpstream
from tests.server.openai.test_openai_batches import begin, ended, lines, output
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "batches"


@pytest.fixture
def serving(upstream: ScriptedUpstream, folder: Path) -> Iterator[Running]:
    with running(lambda: upstream, batches=folder) as one:
        yield one


def test_rows_that_wait_to_ask_again_let_no_others_try_in_vain(serving, upstream, monkeypatch):
    monkeypatch.setattr(runner, "LEAST_WAIT_S", 0.05)
    monkeypatch.setattr(runner, "MOST_WAIT_S", 0.05)
    upstream.down, client = True, serving.client()
    each = [lines(1, user=str(i)).replace(b"row-0", b"row-%d" % i) for i in range(100)]
    begin(client, b"\n".join(each))
    wait_until(lambda: len(upstream.asked) >= 3 * ROWS_AT_ONCE)
    assert len({asked["user"] for asked, _ in upstream.asked}) == ROWS_AT_ONCE


def test_a_users_own_deadline_is_not_that_of_rows_for_which_nobody_waits(upstream, book, folder):
    upstream.pause_s, key = 0.05, book.add("ann", deadline_s=0.01)
    with running(lambda: upstream, Users.load(book.path), folder) as keyed:
        client = keyed.client(key)
        assert ended(client, begin(client, lines(2))).request_counts.completed == 2


def test_a_row_has_no_more_answers_than_its_user_may_have_requests(upstream, book, folder):
    key = book.add("ann", requests_at_once=2)
    with running(lambda: upstream, Users.load(book.path), folder) as keyed:
        client = keyed.client(key)
        batch = ended(client, begin(client, lines(1, n=3)))
        response = output(client, batch.error_file_id)["row-0"]["response"]
    assert response["status_code"] == 400
    assert not upstream.asked


def test_a_row_that_the_server_fails_on_is_a_failed_row(serving, upstream, monkeypatch):
    monkeypatch.setattr(upstream, "send", None)
    client = serving.client()
    batch = ended(client, begin(client, lines(2)))
    assert (batch.status, batch.request_counts.failed) == ("completed", 2)


def test_a_batch_that_gets_no_further_can_be_cancelled(upstream, folder):
    upstream.stalls_after = 20
    with running(lambda: upstream, batches=folder) as first:
        batch = begin(first.client(), lines(200))
        wait_until(lambda: first.client().batches.retrieve(batch.id).request_counts.completed)
    (folder / "files" / batch.input_file_id).unlink()
    with running(lambda: upstream, batches=folder) as second:
        client = second.client()
        assert client.batches.retrieve(batch.id).status == "in_progress"
        client.batches.cancel(batch.id)
        found = ended(client, batch)
        assert (found.status, bool(found.output_file_id)) == ("cancelled", True)


def test_a_batch_cancelled_before_its_answers_were_counted_keeps_them(folder):
    store = BatchStore(folder)
    file = StoredFile("ann", "rows", "batch", 1)
    store.add_file(file, lines(3))
    batch = StoredBatch("ann", file.id, "/v1/chat/completions", 3, "{}")
    store.put_batch(batch)
    store.path(f"{batch.id}-output").write_bytes(as_line("row-0", 200, {}))

    async def ask(*_: object) -> RowReply:
        await asyncio.Event().wait()
        raise AssertionError

    async def cancel_at_once() -> None:
        one = BatchRunner(store, ask)
        one.begin(batch)
        await asyncio.sleep(0)
        one.cancel(batch)
        while one.find(batch.id):
            await asyncio.sleep(0.01)

    asyncio.run(cancel_at_once())
    (kept,) = store.batches("ann")
    assert (kept.status, kept.completed) == ("cancelled", 1)
    assert kept.output_file_id is not None
    assert store.content(kept.output_file_id).count(b"\n") == 1


def test_a_user_has_so_many_batches_uploads_and_bytes(serving, upstream, monkeypatch):
    upstream.down, client = True, serving.client()
    batch = begin(client, lines(1))
    monkeypatch.setattr(service, "MOST_BATCHES", 1)
    with pytest.raises(openai.RateLimitError, match="1 batches that have not ended"):
        begin(client, lines(1))
    client.batches.cancel(batch.id)
    ended(client, batch)
    monkeypatch.setattr(service, "MOST_BYTES_KEPT", 1)
    with pytest.raises(openai.BadRequestError, match="delete some"):
        begin(client, lines(1))
    monkeypatch.setattr(service, "MOST_UPLOADS", 0)
    monkeypatch.setattr(service, "MOST_BYTES_KEPT", 10**6)
    with pytest.raises(openai.RateLimitError, match="0 uploads"):
        begin(client, lines(1))


def test_a_file_is_kept_as_it_came_under_a_short_name(serving):
    content = b'a\rb\r\n--C\r\n\r\nc\n\xff\x00 \xe2\x80\xa8 "\n\n'
    file = serving.client().files.create(file=("n" * 1000, content), purpose="batch")
    assert (file.bytes, len(file.filename)) == (len(content), service.MOST_NAME)
    assert serving.client().files.content(file.id).content == content


def test_a_form_of_a_million_parts_is_none(serving):
    head = {"content-type": "multipart/form-data; boundary=B", "authorization": "Bearer k"}
    reply = httpx.post(f"{serving.url}/files", content=b"--B\r\n" * 10**6, headers=head, timeout=60)
    assert (reply.status_code, json.loads(reply.text)["error"]["param"]) == (400, "purpose")


def test_a_file_of_newlines_or_with_a_huge_line_is_refused_before_it_is_cut(serving, upstream, monkeypatch):
    monkeypatch.setattr(store, "MAX_BODY", 1000)
    for content, why in (
        (b"\n" * 100_001, "more than 50,000 lines"),
        (lines(1, user="x" * 1000), "more than 0 MiB"),
    ):
        failed = begin(serving.client(), content)
        assert (failed.status, why in failed.errors.data[0].message) == ("failed", True)
    assert not upstream.asked
