"""The files and batches of OpenAI's API, as a client asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import IO, Any

from relserve.cache.kept_batches import ENDED, BatchRowState, KeptBatch, KeptRow, LandedRow
from relserve.engines.http.client import JsonClient, StatusError
from relserve.engines.http.faults import RetryAction, fault_of
from relserve.engines.http.reply import in_json, shown
from relserve.errors import FailureKind

NAME = "relserve"  # of the metadata in which a batch has our id
WINDOW = "24h"  # the only one that servers know
LOOK_S = 30.0  # in which a server is to say how a batch stands
PAGE, MOST_PAGES = 100, 50  # batches of one page of a list, and pages that are looked through
MOST_TRIES = 3  # of a row on which the server failed
NO_SUCH_PATH = (404, 405, 501)
PASSING = (RetryAction.WAIT, RetryAction.RETRY, RetryAction.RETRY_ONCE, RetryAction.GIVE_UP)


class NotABatch(Exception):
    """The server's reply is not what its API says."""


async def upload(client: JsonClient, batch: KeptBatch, lines: bytes) -> str:
    """Upload the requests of a batch; gives the file's id. Raises as `JsonClient.post`, and NotABatch."""
    name = f"{NAME}-{batch.id}.jsonl"
    return str(_object(await client.upload("/files", {"purpose": "batch"}, name, lines))["id"])


async def create(client: JsonClient, batch: KeptBatch, path: str) -> KeptBatch:
    """Have an uploaded file answered, each line at this path; raises as `upload`."""
    body = {
        "input_file_id": batch.file_id, "endpoint": f"/v1{path}", "completion_window": WINDOW,
        "metadata": {NAME: batch.id},
    }  # fmt: skip
    return as_told(batch, _object(await client.post("/batches", body)))


async def look(client: JsonClient, batch: KeptBatch) -> tuple[KeptBatch, dict[str, Any]]:
    """How a batch stands, and all that the server says of it; raises as `upload`."""
    told = _object(await client.get(f"/batches/{batch.server_id}", LOOK_S))
    return as_told(batch, told), told


async def cancel(client: JsonClient, batch: KeptBatch) -> KeptBatch:
    """Have the server give a batch up; raises as `upload`."""
    return as_told(batch, _object(await client.post(f"/batches/{batch.server_id}/cancel", {})))


async def find_lost(client: JsonClient, batch: KeptBatch) -> KeptBatch | None:
    """A batch whose creation nobody saw the end of, as the server knows it; None: it has none such.

    Raises: as `upload`; StatusError of `NO_SUCH_PATH` where it lists no batches.
    """
    after = ""
    for _ in range(MOST_PAGES):
        page = _object(await client.get(f"/batches?limit={PAGE}{after}", LOOK_S), "data")
        cards = [each for each in page["data"] if isinstance(each, dict) and "id" in each]
        for each in cards:
            metadata = each.get("metadata")
            is_ours = isinstance(metadata, dict) and metadata.get(NAME) == batch.id
            if is_ours or (batch.file_id is not None and each.get("input_file_id") == batch.file_id):
                return as_told(batch, each)
        if not page.get("has_more") or not cards:
            break
        after = f"&after={cards[-1]['id']}"
    return None


async def download(client: JsonClient, told: dict[str, Any], into: IO[bytes]) -> None:
    """Write the lines that came of a batch to a file, which memory may not hold; raises as `upload`."""
    for name in ("output_file_id", "error_file_id"):
        if file_id := told.get(name):
            await client.download(f"/files/{file_id}/content", into)
            into.write(b"\n")


def landed_rows(batch: KeptBatch, lines: Iterable[bytes], rows: Sequence[KeptRow]) -> Iterator[LandedRow]:
    """What came of the rows of a batch that has ended, by the lines of its files, the first of each."""
    waiting = {custom_id(batch, row.number): row for row in rows if row.state is BatchRowState.SENT}
    for raw in lines:
        line = _line(raw)
        if line is not None and (row := waiting.pop(str(line.get("custom_id")), None)) is not None:
            yield _landed(row, line, batch)
    for row in waiting.values():
        yield _landed(row, None, batch)


def custom_id(batch: KeptBatch, number: int) -> str:
    """By which a row's line comes back."""
    return f"{batch.id}-{number}"


def line_of(batch: KeptBatch, number: int, path: str, body: str) -> bytes:
    """A row, whose request's body is this JSON, as a line of the file that is uploaded."""
    line = {"custom_id": custom_id(batch, number), "method": "POST", "url": f"/v1{path}"}
    return f'{json.dumps(line)[:-1]}, "body": {body}}}\n'.encode()


def as_told(batch: KeptBatch, told: dict[str, Any]) -> KeptBatch:
    """The batch with what its server says of it."""
    counts = told.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    expires = told.get("expires_at")
    return replace(
        batch, server_id=str(told["id"]), state=str(told.get("status") or "validating").lower(),
        file_id=str(told.get("input_file_id") or batch.file_id), message=_errors(told),
        answered=_count(counts.get("completed")), failed=_count(counts.get("failed")),
        expires=float(expires) if isinstance(expires, (int, float)) else batch.expires,
    )  # fmt: skip


def _landed(row: KeptRow, line: dict[str, Any] | None, batch: KeptBatch) -> LandedRow:
    """What came of a row: the body of its completion, or why it failed."""
    if line is None:
        if batch.state == "completed":
            return _failed(row, row.tries, "the batch ended without an answer to this row")
        if batch.state == "failed":
            return _failed(row, row.tries, f"the server refused the batch: {batch.message}")
        return LandedRow(row.key, BatchRowState.UNASKED, row.tries)  # expired or cancelled before its turn
    response, error = line.get("response"), line.get("error")
    if isinstance(response, dict) and response.get("status_code") == HTTPStatus.OK:
        return LandedRow(row.key, BatchRowState.ANSWERED, row.tries, json.dumps(response.get("body")))
    if isinstance(response, dict) and isinstance(response.get("status_code"), int):
        body = response.get("body")
        fault = fault_of(StatusError(response["status_code"], {}, _error_in(body)))
        if fault.action in PASSING and row.tries + 1 < MOST_TRIES:
            return LandedRow(row.key, BatchRowState.UNASKED, row.tries + 1)
        return _failed(row, row.tries + 1, fault.message, fault.row_failure)
    code = error.get("code") if isinstance(error, dict) else None
    if code in ("batch_expired", "batch_cancelled"):
        return LandedRow(row.key, BatchRowState.UNASKED, row.tries)
    return _failed(row, row.tries, f"the server says {shown(error or line)}")


def _failed(row: KeptRow, tries: int, message: str, kind: FailureKind = FailureKind.ENGINE) -> LandedRow:
    return LandedRow(row.key, BatchRowState.FAILED, tries, json.dumps([kind, message]))


def _error_in(body: object) -> object:
    return body.get("error", body) if isinstance(body, dict) else body


def _line(raw: bytes) -> dict[str, Any] | None:
    """A line of an output file; None: it cannot be read."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _errors(told: dict[str, Any]) -> str:
    """Why the server refused a batch; "" where it did not."""
    errors = told.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    messages = [str(each.get("message")) for each in data or () if isinstance(each, dict)]
    return "; ".join(dict.fromkeys(messages))[:500]


def _object(data: object, name: str = "id") -> dict[str, Any]:
    data = in_json(data)
    if isinstance(data, dict) and data.get(name) is not None:
        return data
    raise NotABatch(f"the server's reply has no {name!r}: {shown(data)}")


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def has_ended(batch: KeptBatch) -> bool:
    """Whether the server is done with a batch."""
    return batch.state in ENDED
