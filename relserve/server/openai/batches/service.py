"""/v1/files and /v1/batches: what clients upload, ask and take, each user for themselves."""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from relserve.server.openai.asked import CHAT, COMPLETIONS
from relserve.server.openai.batches.runner import AskRow, BatchRunner
from relserve.server.openai.batches.store import BatchStore, StoredBatch, StoredFile, mistakes_in
from relserve.server.openai.exchange import Exchange
from relserve.server.openai.limits import SOON_S
from relserve.server.openai.refusal import LIMIT, Refusal, bad_request, unavailable
from relserve.server.users.users import User

FILES, BATCHES = "/v1/files", "/v1/batches"
ENDPOINTS = (CHAT, COMPLETIONS)
MOST_BYTES, UPLOAD_S = 100 * 2**20, 600.0  # of a file, and seconds in which it must have come
MOST_FILES = 1000  # of one user
MOST_BYTES_KEPT = 10 * 2**30  # of one user's files, with those of answers
MOST_UPLOADS = 2  # of one user at the same time: they are in memory
MOST_BATCHES = 100  # of one user that have not ended
MOST_METADATA, MOST_METADATA_CHARS = 16, 10_000  # keys of a batch, as OpenAI's, and their texts
MOST_NAME = 255  # characters of a file's name
MOST_PARTS, MOST_HEAD = 16, 10_000  # of a form, and bytes before the content of a part
PAGE = 20  # batches or files of a list, where the client does not say
FORM = "multipart/form-data"


class _Asked(NamedTuple):
    """A path below /v1: files or batches, the id, and what of it is wanted."""

    kind: str
    id: str
    what: str


class BatchService:
    """Answers what is asked about files and batches.

    Args:
        folder: in which they are kept.
        ask: see `BatchRunner`.
    """

    def __init__(self, folder: Path, ask: AskRow) -> None:
        self._store = BatchStore(folder)
        self._runner = BatchRunner(self._store, ask)
        self._holds_folder = False
        self._uploads = Counter[str]()  # under way, by user

    @staticmethod
    def handles(path: str) -> bool:
        """Whether a path is about files or batches."""
        return path.startswith((FILES, BATCHES))

    def start(self) -> None:
        """Go on with what a server before this one left; in the event loop."""
        self._take()

    async def close(self) -> None:
        """End; what is unfinished goes on with the next start."""
        await self._runner.close()
        self._store.leave()

    async def answer(self, exchange: Exchange, user: User) -> None:
        """One request.

        Raises:
            Refusal: it cannot be had, or another server has the folder.
        """
        if not self._take():
            raise unavailable("another server of this machine has the batches' folder: ask that one")
        method, path = exchange.request.method, exchange.request.scope["path"]
        asked = _Asked(*[*path.removeprefix("/v1/").strip("/").split("/"), "", ""][:3])
        on_all = {
            ("POST", "files"): self._upload, ("GET", "files"): self._list_files,
            ("POST", "batches"): self._create, ("GET", "batches"): self._list_batches,
        }  # fmt: skip
        on_one = {
            ("GET", "files", ""): self._file, ("DELETE", "files", ""): self._delete,
            ("GET", "files", "content"): self._content, ("GET", "batches", ""): self._batch,
            ("POST", "batches", "cancel"): self._cancel,
        }  # fmt: skip
        if not asked.id and (of_all := on_all.get((method, asked.kind))):
            await of_all(exchange, user)
        elif asked.id and (of_one := on_one.get((method, asked.kind, asked.what))):
            await of_one(exchange, user, asked.id)
        else:
            raise Refusal(404, f"unknown request URL: {method} {path}", "unknown_url")

    def _take(self) -> bool:
        """Whether the folder is this server's; it goes on with the batches as soon as that is so."""
        if not self._holds_folder and self._store.take():
            self._holds_folder = True
            self._runner.resume()
        return self._holds_folder

    async def _upload(self, exchange: Exchange, user: User) -> None:
        if "authorization" not in exchange.request.headers:  # a web page elsewhere cannot send it unasked
            raise bad_request("files are uploaded with a header Authorization: Bearer KEY, also without keys")
        files = self._store.files(user.name)
        if len(files) >= MOST_FILES or sum(each.bytes for each in files) > MOST_BYTES_KEPT:
            most = f"{MOST_FILES:,} files or {MOST_BYTES_KEPT >> 30} GiB"
            raise bad_request(f"you have {most}, the most that is kept for a user; delete some")
        if self._uploads[user.name] >= MOST_UPLOADS:
            raise Refusal(429, f"you have {MOST_UPLOADS} uploads under way", LIMIT, retry_s=SOON_S)
        self._uploads[user.name] += 1
        try:
            await self._take_in(exchange, user)
        finally:
            self._uploads[user.name] -= 1

    async def _take_in(self, exchange: Exchange, user: User) -> None:
        raw = await exchange.body(FORM, MOST_BYTES, UPLOAD_S)
        fields = await asyncio.to_thread(_form_of, exchange.request.headers["content-type"], raw)
        if fields.get("purpose", ("", b""))[1].strip() != b"batch":
            raise bad_request("the purpose of a file is batch", "purpose")
        if "file" not in fields:
            raise bad_request("the form has no file", "file")
        name, content = fields["file"]
        file = StoredFile(user.name, name[:MOST_NAME] or "file", "batch", len(content))
        await asyncio.to_thread(self._store.add_file, file, content)
        await exchange.whole(200, file.card())

    async def _list_files(self, exchange: Exchange, user: User) -> None:
        await _list(exchange, [each.card() for each in self._store.files(user.name)])

    async def _file(self, exchange: Exchange, user: User, file_id: str) -> None:
        await exchange.whole(200, self._found_file(user, file_id).card())

    async def _content(self, exchange: Exchange, user: User, file_id: str) -> None:
        self._found_file(user, file_id)
        await exchange.file(self._store.path(file_id))

    async def _delete(self, exchange: Exchange, user: User, file_id: str) -> None:
        self._found_file(user, file_id)
        running = {each.input_file_id for each in self._store.batches(user.name) if each.ended is None}
        if file_id in running:
            raise Refusal(409, f"a batch reads {file_id}; cancel it first")
        self._store.remove_file(file_id)
        await exchange.whole(200, {"id": file_id, "object": "file", "deleted": True})

    async def _create(self, exchange: Exchange, user: User) -> None:
        raw = await exchange.body()
        if sum(each.ended is None for each in self._store.batches(user.name)) >= MOST_BATCHES:
            raise Refusal(429, f"you have {MOST_BATCHES} batches that have not ended", LIMIT, retry_s=SOON_S)
        batch, mistakes = await self._checked(raw, user)
        self._found_file(user, batch.input_file_id)  # it may have been deleted meanwhile
        if mistakes:
            batch.errors = json.dumps(mistakes)
            self._store.end(batch, "failed")
        else:
            self._store.put_batch(batch)
            self._runner.begin(batch)
        await exchange.whole(200, batch.card())

    async def _checked(self, raw: bytes, user: User) -> tuple[StoredBatch, list[dict[str, Any]]]:
        """A batch as it is asked for, and what is wrong with its lines."""
        try:
            asked = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise bad_request(f"the body is no JSON: {error}") from None
        asked = asked if isinstance(asked, dict) else {}
        endpoint, metadata = asked.get("endpoint"), asked.get("metadata") or {}
        if endpoint not in ENDPOINTS:
            raise bad_request(f"the endpoint is one of {', '.join(ENDPOINTS)}", "endpoint")
        if asked.get("completion_window") != "24h":
            raise bad_request("the completion_window is 24h", "completion_window")
        if not isinstance(metadata, dict) or len(metadata) > MOST_METADATA:
            raise bad_request(f"metadata is an object of at most {MOST_METADATA} keys", "metadata")
        if len(json.dumps(metadata)) > MOST_METADATA_CHARS:
            raise bad_request(f"metadata has at most {MOST_METADATA_CHARS:,} characters", "metadata")
        file = self._found_file(user, str(asked.get("input_file_id")))
        content = await asyncio.to_thread(self._store.content, file.id)
        total, mistakes = await asyncio.to_thread(mistakes_in, content, endpoint)
        return StoredBatch(user.name, file.id, endpoint, total, json.dumps(metadata)), mistakes

    async def _list_batches(self, exchange: Exchange, user: User) -> None:
        stored = self._store.batches(user.name)
        await _list(exchange, [(self._runner.find(each.id) or each).card() for each in stored])

    async def _batch(self, exchange: Exchange, user: User, batch_id: str) -> None:
        await exchange.whole(200, self._found_batch(user, batch_id).card())

    async def _cancel(self, exchange: Exchange, user: User, batch_id: str) -> None:
        batch = self._found_batch(user, batch_id)
        if batch.ended is not None:
            raise Refusal(409, f"the batch is {batch.status} already")
        self._runner.cancel(batch)
        await exchange.whole(200, batch.card())

    def _found_file(self, user: User, file_id: str) -> StoredFile:
        if (file := self._store.find_file(user.name, file_id)) is None:
            raise Refusal(404, f"no such file: {file_id}", param="id")
        return file

    def _found_batch(self, user: User, batch_id: str) -> StoredBatch:
        stored = next((each for each in self._store.batches(user.name) if each.id == batch_id), None)
        if stored is None:
            raise Refusal(404, f"no batch with id '{batch_id}'", param="id")
        return self._runner.find(batch_id) or stored


async def _list(exchange: Exchange, cards: list[dict[str, Any]]) -> None:
    """A page of cards, as OpenAI's lists have them."""
    query = exchange.request.query_params
    after, limit = query.get("after"), query.get("limit", "")
    ids = [card["id"] for card in cards]
    first = ids.index(after) + 1 if after in ids else 0
    page = cards[first : first + (int(limit) if limit.isdecimal() and 0 < len(limit) < 5 else PAGE)]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
    more = first + len(page) < len(cards)
    await exchange.whole(200, {"object": "list", "data": page, **ends, "has_more": more})


def _form_of(content_type: str, raw: bytes) -> dict[str, tuple[str, bytes]]:
    """The fields of a form: each one's file name and content.

    Raises:
        Refusal: it is no form.
    """
    head = f"content-type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    boundary = email.message_from_bytes(head, policy=email.policy.HTTP).get_boundary()
    if not boundary:
        raise bad_request("the form cannot be read: it has no boundary")
    found = {}
    parts = (b"\r\n" + raw).split(b"\r\n--" + boundary.encode("latin-1", "replace"), MOST_PARTS)
    for each in parts[1:]:
        head, _, content = each.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if head.startswith(b"--") or len(head) > MOST_HEAD:  # what follows the last part, or no head
            break
        part = email.message_from_bytes(head + b"\r\n\r\n", policy=email.policy.HTTP)
        name = part.get_param("name", header="content-disposition")
        found[str(name)] = part.get_filename() or "", content
    return found
