"""What the engines of this machine are doing: a small file that each writes and `relserve top` reads."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import socket
import time
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from relserve.machine.private_files import write_private
from relserve.settings import cache_dir

_numbers = itertools.count(1)
_NAME = re.compile(r"[a-z]+-(\d+)(-\d+)?\.json(\.tmp)?")


class StatusRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a status file holds: a reader takes it as it is declared, or not at all."""


class ProcessStatus(StatusRecord, frozen=True, tag_field="format"):
    """What a process tells of itself; `tag` is the format, and a reader leaves files of another one alone.

    Attributes:
        started: when the process started, in the kernel's ticks; None where /proc does not say.
    """

    pid: int
    started: int | None

    @classmethod
    def here(cls, **known: Any) -> Self:
        """That of this process, as of now; `known` are the other attributes."""
        pid, now_s = os.getpid(), time.time()
        return cls(pid=pid, started=started_at(pid), written_s=now_s, **known)  # type: ignore[call-arg]


class RelStatus(StatusRecord, frozen=True):
    """One unfinished relQuery in an engine.

    Attributes:
        rows: rows (distinct prompts) that it has in all; `done` of them are answered, `failed` were aborted.
        phase: "waiting", "core running" or "tail running" (RelServe, section 3).
        priority: by which the variant orders, lower first: predicted seconds left (dpu), or tokens (static);
            None where the order is that of arrival.
        left_s: predicted seconds of work left; None when nothing tells yet.
        age_s: seconds since its first row arrived, when the status was written.
        workflow, stage: of the workflow that it is a step of; None for none.
        deadline_s: seconds until its answers are of no more use, when the status was written; None: any time.
        slack_s: seconds that its workflow may still wait and be in time, as far as can be foreseen.
        urgency_s: of HexGen-Text2SQL's local queue: the seconds that the step takes, less its share of the
            deadline, and what it has waited; the greater, the more urgent.
    """

    rel_id: str
    rows: int
    done: int
    failed: int
    phase: str
    priority: float | None
    left_s: float | None
    age_s: float
    workflow: str | None = None
    stage: str | None = None
    deadline_s: float | None = None
    slack_s: float | None = None
    urgency_s: float | None = None


class BudgetStatus(StatusRecord, frozen=True):
    """What bounds an engine's steps.

    Attributes:
        policy: its name.
        limited: requests here that have a limit on the time of their tokens.
        tokens, reason, target_s: of the latest step that was bounded: its tokens at most, why so many, and
            the seconds that it should take; None where none was, or no limit says.
        r2: how well the model of steps foretold the latest ones; None: it is too early.
        decision_ms: what a decision takes, the median.
        least_step_s: the shortest step so far.
    """

    policy: str
    limited: int
    tokens: int | None
    reason: str | None
    target_s: float | None
    r2: float | None
    decision_ms: float | None
    least_step_s: float | None

    @property
    def text(self) -> str:
        """The latest step in a line: its tokens at most, what it should take, why, and how sure that is."""
        rows = f"{self.limited:,} with limits"
        if self.least_step_s is not None:
            rows += f", no step below {1e3 * self.least_step_s:,.3g} ms"
        if self.tokens is None:
            return f"steps by {self.policy}, {rows}"
        target = "" if self.target_s is None else f" in {1e3 * self.target_s:,.3g} ms"
        sure = "" if self.r2 is None else f", R2 {self.r2:.2f}"
        return f"steps by {self.policy}: {self.tokens:,} tokens{target} ({self.reason}), {rows}{sure}"


class EngineStatus(ProcessStatus, frozen=True, tag=1):
    """One engine; `rels` are its relQueries in the order in which they are served.

    Attributes:
        written_s: when this was written, in seconds of the wall clock.
        running, waiting: requests.
        kv_used: share of the KV cache in use.
        num_rels: relQueries in all; `rels` holds the first of them.
        hidden: running requests that keep hidden states in place of keys and values.
        switched: requests so far that were dropped and came back as the other of the two.
        budget: what bounds its steps; None: nothing.
    """

    model: str
    variant: str
    written_s: float
    running: int
    waiting: int
    kv_used: float
    num_rels: int
    rels: list[RelStatus]
    hidden: int = 0
    switched: int = 0
    budget: BudgetStatus | None = None


def status_json(status: StatusRecord) -> str:
    """A record as its file has it; what is not finite is null."""
    return msgspec.json.encode(status, enc_hook=_number).decode()


def _number(value: Any) -> Any:
    """A number of numpy's, which are none to msgspec, as Python's: whole ones stay so, as the record says."""
    return value.item()


def state_dir() -> Path:
    """The folder of the status files; one a machine, for a cache folder may be shared by several."""
    return cache_dir() / "state" / socket.gethostname()


def read_engines(folder: Path) -> list[EngineStatus]:
    """The engines that run, by pid; removes what processes left that have ended."""
    return read_statuses(folder, "engine", EngineStatus)


class StatusFile:
    """Where a process writes one status; what cannot be written is left out: it is seen nowhere but in `top`.

    Args:
        kind: of the file's name, as of `read_statuses`.
    """

    def __init__(self, kind: str, folder: Path | None = None) -> None:
        self.path = (folder or state_dir()) / f"{kind}-{os.getpid()}-{next(_numbers)}.json"

    def write(self, status: StatusRecord) -> None:
        """Put this in place of what was written before, at once."""
        unfinished = self.path.with_suffix(".json.tmp")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_private(unfinished, status_json(status) + "\n")
            unfinished.replace(self.path)

    def remove(self) -> None:
        """What it told of is no more."""
        with contextlib.suppress(OSError):
            self.path.unlink()


Some = TypeVar("Some", bound=ProcessStatus)


def read_statuses(folder: Path, kind: str, record: type[Some]) -> list[Some]:
    """What running processes wrote into files of a kind, by pid; removes what those left that have ended."""
    found = []
    for path in sorted(folder.glob(f"{kind}-*")):
        name = _NAME.fullmatch(path.name)
        if name is None:
            continue
        status = None if name[3] else _read(path, record)
        if not is_alive(int(name[1]), None if status is None else status.started):
            with contextlib.suppress(OSError):
                path.unlink()
        elif status is not None:
            found.append(status)
    return sorted(found, key=lambda status: status.pid)


def _read(path: Path, record: type[Some]) -> Some | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except (OSError, ValueError, RecursionError):
        return None


def is_alive(pid: int, started: int | None) -> bool:
    """Whether a process runs, and is the one that started then, not another with the same number."""
    if Path("/proc/self/stat").exists():
        now = started_at(pid)
        return now is not None and started in (None, now)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def started_at(pid: int) -> int | None:
    """When a running process started, in the kernel's ticks; None if it has ended or there is no /proc."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    return None if fields[0] in "ZX" else int(fields[19])
