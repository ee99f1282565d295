"""The files and batches of a server, in a folder: they outlive it, with every answer that was written."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from relserve.cache.small_file import SmallFile, put
from relserve.server.openai.exchange import MAX_BODY

WINDOW_S = 86_400  # in which a batch has to be done
MOST_LINES = 50_000  # of one batch
KEPT_S = 30 * 86_400  # for which the files of a batch that ended are kept
KINDS = "output", "error"  # of files in which what comes of a batch is written
RUNNING = ("in_progress", "cancelling")
NOT_FOR_BATCHES = ("stream", "deadline", "slo")  # of a request's body
WAIT_S = 10.0

_TABLES = """
CREATE TABLE files (
    id TEXT PRIMARY KEY, user TEXT NOT NULL, filename TEXT NOT NULL, purpose TEXT NOT NULL,
    bytes INTEGER NOT NULL, created INTEGER NOT NULL
);
CREATE TABLE batches (
    id TEXT PRIMARY KEY, user TEXT NOT NULL, input_file_id TEXT NOT NULL, endpoint TEXT NOT NULL,
    created INTEGER NOT NULL, status TEXT NOT NULL, total INTEGER NOT NULL, completed INTEGER NOT NULL,
    failed INTEGER NOT NULL, ended INTEGER, metadata TEXT NOT NULL, errors TEXT NOT NULL,
    output_file_id TEXT, error_file_id TEXT
);
"""


@dataclass
class StoredFile:
    """What a client uploaded, or what came of a batch."""

    user: str
    filename: str
    purpose: str
    bytes: int
    id: str = field(default_factory=lambda: f"file-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def card(self) -> dict[str, Any]:
        """As OpenAI shows it."""
        return {
            "id": self.id, "object": "file", "bytes": self.bytes, "created_at": self.created,
            "filename": self.filename, "purpose": self.purpose, "status": "processed",
        }  # fmt: skip


@dataclass
class StoredBatch:
    """A file of requests that are being answered, or were.

    Attributes:
        total, completed, failed: of its lines.
        metadata, errors: in JSON.
    """

    user: str
    input_file_id: str
    endpoint: str
    total: int
    metadata: str
    status: str = "in_progress"
    completed: int = 0
    failed: int = 0
    ended: int | None = None
    errors: str = "[]"
    output_file_id: str | None = None
    error_file_id: str | None = None
    id: str = field(default_factory=lambda: f"batch_{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def expires(self) -> int:
        """When rows without an answer are given up, in Unix time."""
        return self.created + WINDOW_S

    def card(self) -> dict[str, Any]:
        """As OpenAI shows it."""
        errors = json.loads(self.errors)
        ended = {f"{self.status}_at": self.ended} if self.ended is not None else {}
        return {
            "id": self.id, "object": "batch", "endpoint": self.endpoint,
            "errors": {"object": "list", "data": errors} if errors else None,
            "input_file_id": self.input_file_id, "completion_window": "24h", "status": self.status,
            "output_file_id": self.output_file_id, "error_file_id": self.error_file_id,
            "created_at": self.created, "in_progress_at": self.created, "expires_at": self.expires, **ended,
            "request_counts": {"total": self.total, "completed": self.completed, "failed": self.failed},
            "metadata": json.loads(self.metadata),
        }  # fmt: skip


class BatchLine(NamedTuple):
    """A request of a batch."""

    custom_id: str
    body: dict[str, Any]


class BatchStore:
    """Files and batches; for one process, which holds the folder's lock, and one thread at a time.

    Raises (as its methods do): sqlite3.Error, OSError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._tables = folder, SmallFile(folder / "batches.sqlite3", _TABLES, WAIT_S)
        (folder / "files").mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock: int | None = None

    def take(self) -> bool:
        """Hold the folder from now on; False: another process does."""
        import fcntl  # not on Windows

        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def leave(self) -> None:
        """Let the folder go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def add_file(self, file: StoredFile, content: bytes) -> None:
        """Keep a file."""
        self._write(file.id, content)
        self._put("files", file)

    def find_file(self, user: str, file_id: str) -> StoredFile | None:
        """A user's file."""
        return next((each for each in self.files(user) if each.id == file_id), None)

    def files(self, user: str) -> list[StoredFile]:
        """A user's files, the newest first."""
        return [StoredFile(**row) for row in self._rows("files", user)]

    def content(self, file_id: str) -> bytes:
        """Of a file that a client uploaded."""
        return self.path(file_id).read_bytes()

    def remove_file(self, file_id: str) -> None:
        """Delete a file."""
        with self._tables.writing() as db:
            db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        self.path(file_id).unlink(missing_ok=True)

    def put_batch(self, batch: StoredBatch) -> None:
        """Keep what is new of a batch."""
        self._put("batches", batch)

    def batches(self, user: str | None = None) -> list[StoredBatch]:
        """A user's batches, or all, the newest first."""
        return [StoredBatch(**row) for row in self._rows("batches", user)]

    def path(self, file_id: str) -> Path:
        """Where a file's content is."""
        return self._folder / "files" / file_id

    def lines_left(self, batch: StoredBatch) -> list[BatchLine]:
        """The requests of a batch that have no answer yet; counts those that have one."""
        done = self.count(batch)
        asked = map(json.loads, self.content(batch.input_file_id).splitlines())
        return [BatchLine(each["custom_id"], each["body"]) for each in asked if each["custom_id"] not in done]

    def count(self, batch: StoredBatch) -> set[str]:
        """The requests of a batch that have an answer, by their custom ids, which it counts."""
        done: set[str] = set()
        for kind in KINDS:
            num_before = len(done)
            came = whole_lines(self.path(came_id(batch, kind)))
            done.update(json.loads(line)["custom_id"] for line in came)
            setattr(batch, "completed" if kind == "output" else "failed", len(done) - num_before)
        return done

    def end(self, batch: StoredBatch, status: str) -> None:
        """A batch is done: what came of it becomes files of its user, all at once or not at all."""
        batch.status, batch.ended = status, int(time.time())
        files, empty = [], []
        for kind, num in zip(KINDS, (batch.completed, batch.failed), strict=True):
            path = self.path(came_id(batch, kind))
            if num:
                name, size = f"{batch.id}_{kind}.jsonl", path.stat().st_size
                files.append(StoredFile(batch.user, name, "batch_output", size, path.name))
                setattr(batch, f"{kind}_file_id", path.name)
            else:
                empty.append(path)
        with self._tables.writing() as db:
            for file in files:
                put(db, "files", file)
            put(db, "batches", batch)
        for path in empty:
            path.unlink(missing_ok=True)

    def forget_old(self) -> None:
        """Remove what is older than `KEPT_S`, with what a process that ended left behind."""
        old = int(time.time()) - KEPT_S
        running = [each for each in self.batches() if each.status in RUNNING]
        with self._tables.writing() as db:
            db.execute("DELETE FROM batches WHERE ended < ?", (old,))
            read = [each.input_file_id for each in running]
            marks = ",".join("?" * len(read))
            db.execute(f"DELETE FROM files WHERE created < ? AND id NOT IN ({marks})", (old, *read))
            kept = {row[0] for row in db.execute("SELECT id FROM files")}
        kept.update(came_id(each, kind) for each in running for kind in KINDS)
        for entry in os.scandir(self._folder / "files"):
            if entry.name not in kept and entry.stat().st_mtime < old:
                os.unlink(entry)

    def _write(self, file_id: str, content: bytes) -> None:
        with open(self.path(file_id), "wb", opener=private) as file:
            file.write(content)

    def _put(self, table: str, thing: StoredFile | StoredBatch) -> None:
        with self._tables.writing() as db:
            put(db, table, thing)

    def _rows(self, table: str, user: str | None) -> list[dict[str, Any]]:
        names = [each.name for each in fields(StoredFile if table == "files" else StoredBatch)]
        with self._tables.writing() as db:
            found = db.execute(
                f"SELECT {', '.join(names)} FROM {table} WHERE :user IS NULL OR user = :user "
                "ORDER BY created DESC, rowid DESC",
                {"user": user},
            ).fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]


def came_id(batch: StoredBatch, kind: str) -> str:
    """The id of the file of what came of a batch, of one of `KINDS`, while it is written and afterwards."""
    return f"{batch.id}-{kind}"


def private(path: str, flags: int) -> int:
    """Opens a file for its owner alone."""
    return os.open(path, flags, 0o600)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, less one that was being written when its process ended, which is taken off."""
    if not path.exists():
        return
    end = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                os.truncate(path, end)
                return
            end += len(line)
            yield line


def mistakes_in(content: bytes, endpoint: str) -> tuple[int, list[dict[str, Any]]]:
    """How many lines a file of requests has, and what is wrong with them, as OpenAI says it."""
    # Counted first: to cut 100 MiB of newlines holds up all clients, and takes gigabytes.
    if (most := content.count(b"\n") + content.count(b"\r")) > 2 * MOST_LINES:
        return most, [_mistake(None, "invalid_file", f"the file has more than {MOST_LINES:,} lines")]
    lines, seen, found = content.splitlines(), set[str](), list[dict[str, Any]]()
    if not 1 <= len(lines) <= MOST_LINES:
        why = f"the file has {len(lines):,} lines; a batch has 1 to {MOST_LINES:,}"
        return len(lines), [_mistake(None, "invalid_file", why)]
    for number, raw in enumerate(lines, 1):
        if why := _mistake_of(raw, endpoint, seen):
            found.append(_mistake(number, "invalid_json_line", why))
        if len(found) == 10:
            break
    return len(lines), found


def _mistake_of(raw: bytes, endpoint: str, seen: set[str]) -> str:
    if len(raw) > MAX_BODY:
        return f"it has more than {MAX_BODY >> 20} MiB"
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    if not isinstance(line, dict) or not isinstance(line.get("body"), dict):
        return "it is no object with a body"
    custom_id = line.get("custom_id")
    if not isinstance(custom_id, str) or not custom_id or custom_id in seen:
        return "its custom_id is no text, or is that of another line"
    seen.add(custom_id)
    if (line.get("method"), line.get("url")) != ("POST", endpoint):
        return f"its method and url are not POST and {endpoint}"
    return next((f"{name} is not for batches" for name in NOT_FOR_BATCHES if line["body"].get(name)), "")


def _mistake(line: int | None, code: str, message: str) -> dict[str, Any]:
    return {"code": code, "line": line, "message": message, "param": None}


def as_line(custom_id: str, status: int | None, body: Any, error: Any = None) -> bytes:
    """A request's outcome as a line of an output file."""
    request_id = secrets.token_hex(8)
    response = None if status is None else {"status_code": status, "request_id": request_id, "body": body}
    line = {"id": f"batch_req_{request_id}", "custom_id": custom_id, "response": response, "error": error}
    return json.dumps(line).encode() + b"\n"


def is_good(status: int) -> bool:
    """Whether a row goes to the file of answers."""
    return status == HTTPStatus.OK
