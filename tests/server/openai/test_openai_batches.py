"""Files and batches: by OpenAI's own client, each user's own, over restarts, behind everybody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from relserve.server.openai.batches import store as stores
from relserve.server.users.users import Users
from tests.server.openai.chatting import HI
from tests.server.openai.gateways import Running, running
from tests.server.openai.scripted_upstream import ScriptedUpstream
from tests.waiting import wait_until

CHAT = "/v1/chat/completions"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "batches"


@pytest.fixture
def serving(upstream: ScriptedUpstream, folder: Path) -> Iterator[Running]:
    with running(lambda: upstream, batches=folder) as one:
        yield one


def lines(num: int, **fields: Any) -> bytes:
    body = {"model": "scripted", "messages": HI, "max_tokens": 2, **fields}
    asked = [{"custom_id": f"row-{i}", "method": "POST", "url": CHAT, "body": body} for i in range(num)]
    return "\n".join(map(json.dumps, asked)).encode()


def begin(client: openai.OpenAI, content: bytes, **fields: Any) -> Any:
    file = client.files.create(file=("rows.jsonl", content), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h", **fields)


def ended(client: openai.OpenAI, batch: Any) -> Any:
    def found() -> Any:
        return client.batches.retrieve(batch.id)

    wait_until(lambda: found().status not in ("in_progress", "cancelling"))
    return found()


def output(client: openai.OpenAI, file_id: str) -> dict[str, Any]:
    text = client.files.content(file_id).text
    return {line["custom_id"]: line for line in map(json.loads, text.splitlines())}


def test_openais_client_has_a_batch_answered(serving, upstream):
    client = serving.client()
    batch = begin(client, lines(40), metadata={"whose": "ours"})
    assert (batch.request_counts.total, batch.metadata) == (40, {"whose": "ours"})
    batch = ended(client, batch)
    assert (batch.status, batch.request_counts.completed, batch.error_file_id) == ("completed", 40, None)
    found = output(client, batch.output_file_id)
    assert sorted(found) == sorted(f"row-{i}" for i in range(40))
    choices = [line["response"]["body"]["choices"][0] for line in found.values()]
    assert {choice["message"]["content"] for choice in choices} == {"word word "}
    assert [each.id for each in client.batches.list()] == [batch.id]
    assert {each.purpose for each in client.files.list()} == {"batch", "batch_output"}
    tags = [asked["vllm_xargs"] for asked, _ in upstream.asked]
    assert {tag["rel_background"] for tag in tags} == {1}
    assert {tag["rel_id"] for tag in tags} == {f"openai anybody {batch.id}"}


def test_rows_that_are_refused_are_in_the_file_of_errors(serving):
    client = serving.client()
    content = lines(2) + b"\n" + lines(1, model="another").replace(b"row-0", b"row-9")
    batch = ended(client, begin(client, content))
    assert (batch.request_counts.completed, batch.request_counts.failed) == (2, 1)
    response = output(client, batch.error_file_id)["row-9"]["response"]
    assert (response["status_code"], response["body"]["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "0 lines"),
        (b"{", "no JSON"),
        (b'{"custom_id": "a"}', "no object with a body"),
        (lines(1) + b"\n" + lines(1), "custom_id is no text, or is that of another line"),
        (lines(1).replace(CHAT.encode(), b"/v1/completions"), "are not POST and /v1/chat/completions"),
        (lines(1, stream=True), "stream is not for batches"),
        (lines(1, deadline=5), "deadline is not for batches"),
    ],
)
def test_a_file_with_mistakes_fails_and_says_where(serving, upstream, content, why):
    batch = begin(serving.client(), content)
    assert batch.status == "failed"
    assert why in batch.errors.data[0].message
    assert not upstream.asked


def test_a_server_that_starts_again_goes_on_and_asks_no_answered_row_again(upstream, folder):
    upstream.pause_s = 0.01
    with running(lambda: upstream, batches=folder) as first:
        client = first.client()
        batch = begin(client, lines(100))
        wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 20)
        first.close()
    output_path = folder / "files" / f"{batch.id}-output"
    done = len(list(stores.whole_lines(output_path)))
    with output_path.open("ab") as file:
        file.write(b'{"custom_id": "half a li')  # as a process that is killed may leave it
    before = len(upstream.asked)
    with running(lambda: upstream, batches=folder) as second:
        found = ended(second.client(), batch)
        assert (found.request_counts.completed, found.request_counts.failed) == (100, 0)
        assert len(output(second.client(), found.output_file_id)) == 100
    assert len(upstream.asked) - before == 100 - done


class Killed(BaseException):
    pass


def test_a_server_that_is_killed_while_it_ends_a_batch_asks_nothing_again(upstream, folder, monkeypatch):
    put = stores.put

    def killed(db: Any, table: str, thing: Any) -> None:
        put(db, table, thing)
        if table == "batches" and thing.ended is not None:
            raise Killed

    store = stores.BatchStore(folder)
    file = stores.StoredFile("anybody", "rows", "batch", 1)
    store.add_file(file, lines(2))
    batch = stores.StoredBatch("anybody", file.id, CHAT, 2, "{}")
    store.put_batch(batch)
    came = [stores.as_line(f"row-{i}", 200, {}) for i in (0, 1)]
    store.path(f"{batch.id}-output").write_bytes(b"".join(came))
    with monkeypatch.context() as patched:
        patched.setattr(stores, "put", killed)
        assert not store.lines_left(batch)
        with pytest.raises(Killed):
            store.end(batch, "completed")
    assert [each.id for each in store.files("anybody")] == [file.id]
    with running(lambda: upstream, batches=folder) as second:
        client = second.client()
        found = ended(client, batch)
        assert (found.status, len(output(client, found.output_file_id))) == ("completed", 2)
        assert len(list(client.files.list())) == 2
    assert not upstream.asked


def test_old_files_are_forgotten_while_the_server_runs(upstream, folder, monkeypatch):
    upstream.pause_s = 60.0
    monkeypatch.setattr("relserve.server.openai.batches.runner.FORGET_EVERY_S", 0.02)
    with running(lambda: upstream, batches=folder) as serving:
        client, files = serving.client(), folder / "files"
        (files / "left-behind").write_bytes(b"by a process that was killed")
        batch = begin(client, lines(1))
        client.files.create(file=b"x", purpose="batch")
        monkeypatch.setattr(stores, "KEPT_S", -60)  # all is old now
        wait_until(lambda: not (files / "left-behind").exists())
        assert [each.id for each in client.files.list()] == [batch.input_file_id]
        there = {path.name for path in files.iterdir()}
        assert there == {batch.input_file_id, f"{batch.id}-output", f"{batch.id}-error"}


def test_a_file_is_sent_in_parts(serving, monkeypatch):
    monkeypatch.setattr("relserve.server.openai.exchange.FILE_CHUNK", 3)
    file = serving.client().files.create(file=("a", b"0123456789"), purpose="batch")
    assert serving.client().files.content(file.id).content == b"0123456789"


def test_a_batch_that_is_cancelled_keeps_what_it_has(serving, upstream):
    upstream.stalls_after, client = 20, serving.client()
    batch = begin(client, lines(200))
    wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed)
    client.batches.cancel(batch.id)
    batch = ended(client, batch)
    assert batch.status == "cancelled"
    assert 0 < len(output(client, batch.output_file_id)) <= 20
    upstream.stalls_after = 10**9
    assert ended(client, begin(client, lines(3))).request_counts.completed == 3  # its places are free again


def test_a_batch_whose_time_is_over_says_which_rows_have_no_answer(upstream, folder, monkeypatch):
    upstream.stalls_after = 20
    with running(lambda: upstream, batches=folder) as first:
        batch = begin(first.client(), lines(200))
        wait_until(lambda: first.client().batches.retrieve(batch.id).request_counts.completed)
    monkeypatch.setattr(stores, "WINDOW_S", 0)
    with running(lambda: upstream, batches=folder) as second:
        client = second.client()
        found = ended(client, batch)
        assert found.status == "expired"
        errors = output(client, found.error_file_id)
        assert {line["error"]["code"] for line in errors.values()} == {"batch_expired"}
        assert len(errors) + len(output(client, found.output_file_id)) == 200


def test_rows_wait_while_the_engine_is_down(serving, upstream, monkeypatch):
    monkeypatch.setattr("relserve.server.openai.batches.runner.LEAST_WAIT_S", 0.05)
    monkeypatch.setattr("relserve.server.openai.batches.runner.MOST_WAIT_S", 0.05)
    upstream.down, client = True, serving.client()
    batch = begin(client, lines(3))
    wait_until(lambda: len(upstream.asked) > 6)
    upstream.down = False
    assert ended(client, batch).request_counts.completed == 3


def test_users_have_their_own(upstream, book, folder):
    ann, ben = book.add("ann", requests_at_once=1), book.add("ben")
    with running(lambda: upstream, Users.load(book.path), folder) as keyed:
        batch = begin(keyed.client(ann), lines(5))
        done = ended(keyed.client(ann), batch)
        assert done.request_counts.completed == 5  # rows are no requests at once
        other = keyed.client(ben)
        assert not list(other.batches.list())
        assert not list(other.files.list())
        for ask in (
            lambda: other.batches.retrieve(batch.id), lambda: other.batches.cancel(batch.id),
            lambda: other.files.content(done.output_file_id), lambda: other.files.delete(batch.input_file_id),
        ):  # fmt: skip
            with pytest.raises(openai.NotFoundError):
                ask()
        keyed.client(ann).files.delete(batch.input_file_id)
        assert keyed.quota.used("ann") == 5 * 7  # as the scripted engine counts words


def test_pages_of_lists_follow_each_other(serving):
    client = serving.client()
    ids = [begin(client, b"").id for _ in range(5)]
    assert [each.id for each in client.batches.list(limit=2)] == ids[::-1]


def test_a_web_page_elsewhere_can_upload_nothing(serving):
    form = {"files": {"file": ("a", b"x")}, "data": {"purpose": "batch"}}
    reply = httpx.post(f"{serving.url}/files", timeout=60, **form)
    assert (reply.status_code, "Authorization" in reply.json()["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"endpoint": "/v1/embeddings"}, "endpoint"),
        ({"completion_window": "1h"}, "completion_window"),
        ({"metadata": {str(i): "" for i in range(17)}}, "metadata"),
        ({"metadata": {"a": "x" * 10_000}}, "metadata"),
        ({"input_file_id": "file-1"}, "id"),
    ],
)
def test_what_cannot_be_is_refused(serving, fields, param):
    client = serving.client()
    file = client.files.create(file=b"x", purpose="batch")
    asked = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h", **fields}
    with pytest.raises(openai.APIStatusError) as caught:
        client.batches.create(**asked)
    assert caught.value.body["param"] == param  # type: ignore[index]


def test_a_user_has_so_many_files_and_unfinished_batches(serving, upstream, monkeypatch):
    upstream.pause_s, client = 600.0, serving.client()
    monkeypatch.setattr("relserve.server.openai.batches.service.MOST_BATCHES", 1)
    monkeypatch.setattr("relserve.server.openai.batches.service.MOST_FILES", 2)
    begin(client, lines(50))
    with pytest.raises(openai.RateLimitError, match="batches that have not ended"):
        begin(client, lines(1))
    with pytest.raises(openai.BadRequestError, match="delete some"):
        begin(client, lines(1))


def test_two_servers_do_not_share_a_folder(serving, upstream, folder):
    with (
        running(lambda: upstream, batches=folder) as other,
        pytest.raises(openai.InternalServerError, match="another server"),
    ):
        other.client().batches.list()
