"""Publishing what the engine is doing, for `relserve top`: a file renewed about once a second.

The scheduler's thread only makes a snapshot; a thread of its own writes it.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
import weakref
from itertools import islice, repeat
from pathlib import Path
from typing import Protocol

from relserve.machine.engine_status import (
    EngineStatus,
    RelStatus,
    started_at,
    state_dir,
    status_json,
)
from relserve.policies.scheduling.driver import RelQueryOutlook
from relserve.vllm_plugin.background_file import BackgroundFile
from relserve.vllm_plugin.budget.steps import StepBudgets
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, model_name, share_of_kv_used
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.steering import Steering

logger = logging.getLogger(__name__)

EVERY_S = 1.0
AFTER_IDLE = 0.05  # of that, after which work is told of that came to an idle engine
MAX_RELS = 32  # relQueries in a snapshot, which is made within a step
MAX_ID = 200  # characters of an id

_numbers = itertools.count(1)


class StatusWriter:
    """Writes the latest status to a file, in a thread of its own; the file goes when this does."""

    def __init__(self, folder: Path, every_s: float = EVERY_S) -> None:
        number = next(_numbers)  # two engines in one process have two files
        name = f"engine-{os.getpid()}.json" if number == 1 else f"engine-{os.getpid()}-{number}.json"
        self.path = folder / name
        self._file = BackgroundFile(
            self.path, every_s, folder / f"{name}.tmp", "relserve top will not see this engine", keeps=False
        )

    def put(self, status: EngineStatus) -> None:
        """Have this written, in place of what was put before and is not written yet; takes microseconds."""
        self._file.put(lambda: status_json(status) + "\n")

    def close(self) -> None:
        """Remove the file, and write no more."""
        self._file.close()


class StatusHost(Host, Protocol):
    """A scheduler that can tell what it has to do; without steering it serves in vLLM's own order."""

    ledger: RowLedger
    types: RowTypes

    @property
    def steering(self) -> Steering | None: ...
    @property
    def budgets(self) -> StepBudgets | None: ...


class Publisher:
    """Tells about once a second what a scheduler has to do, and when it becomes idle.

    When that is over it tells soon: rows may come in bursts, and a moment between two is not to be seen long.
    """

    def __init__(self, scheduler: StatusHost, variant: str, every_s: float = EVERY_S) -> None:
        # Weakly: a scheduler that is dropped without a shutdown takes its file along.
        self._scheduler = weakref.ref(scheduler)
        self._variant, self._every_s = variant, every_s
        self._model = model_name(scheduler)
        self._pid, self._started = os.getpid(), started_at(os.getpid())
        self.file: StatusWriter | None = None
        with contextlib.suppress(Exception):  # no host name, no threads left: serve all the same
            self.file = StatusWriter(state_dir(), every_s)
        self._next_s = 0.0
        self._told_idle = False
        self.tick()

    def tick(self) -> None:
        """To be called after every step and abort: publishes if it is time."""
        scheduler = self._scheduler()
        if self.file is None or scheduler is None:
            return
        is_idle = not len(scheduler.ledger)
        now_s = time.monotonic()
        early_s = self._every_s * (1.0 - AFTER_IDLE) if self._told_idle else 0.0
        if self._told_idle if is_idle else now_s < self._next_s - early_s:
            return
        self._told_idle, self._next_s = is_idle, now_s + self._every_s
        try:
            self.file.put(self.snapshot(scheduler, now_s))
        except Exception:
            logger.warning("no status for relserve top any more", exc_info=True)
            self.file = None

    def snapshot(self, scheduler: StatusHost, now_s: float) -> EngineStatus:
        """What there is to do now."""
        active, steering = scheduler.ledger.active, scheduler.steering
        num_running = len(scheduler.running)
        rels: list[RelStatus] = []
        if len(scheduler.ledger):  # else those that linger for announced rows would seem stuck
            order = () if steering is None else steering.queue.order  # empty after a policy failed, too
            ids = (rel.rel_id for rel in order or active.values() if rel.rel_id in active)
            first = [active[rel_id] for rel_id in islice(ids, MAX_RELS)]
            outlooks = steering.planner.outlooks(first) if steering is not None and order else repeat(None)
            rels = [_status_of(rel, outlook, now_s) for rel, outlook in zip(first, outlooks, strict=False)]
        return EngineStatus(
            pid=self._pid, started=self._started, model=self._model, variant=self._variant,
            written_s=time.time(), running=num_running, waiting=len(scheduler.ledger) - num_running,
            kv_used=share_of_kv_used(scheduler), num_rels=len(active) if rels else 0, rels=rels,
            hidden=sum([scheduler.types.held(row) == "hidden" for row in scheduler.running]),
            switched=scheduler.types.num_switched,
            budget=None if scheduler.budgets is None else scheduler.budgets.status(),
        )  # fmt: skip

    def close(self) -> None:
        """Remove the file."""
        if self.file is not None:
            self.file.close()
            self.file = None


def _status_of(rel: RelRecord, outlook: RelQueryOutlook | None, now_s: float) -> RelStatus:
    priority, left_s, standing = (None, _extrapolated_s(rel, now_s), None) if outlook is None else outlook
    slack_s, urgency_s = (None, None) if standing is None else standing
    return RelStatus(
        rel.rel_id[:MAX_ID], rel.num_announced, rel.num_finished, rel.num_aborted, rel.phase,
        priority, left_s, now_s - rel.arrival_s, _cut(rel.workflow_id), _cut(rel.stage),
        None if rel.deadline_s is None else rel.deadline_s - now_s, slack_s, urgency_s,
    )  # fmt: skip


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:MAX_ID]


def _extrapolated_s(rel: RelRecord, now_s: float) -> float | None:
    """Seconds left if rows go on being answered as fast as so far; None before one was."""
    if rel.first_scheduled_s is None or not rel.num_finished:
        return None
    left = max(rel.num_announced - rel.num_finished - rel.num_aborted, 0)
    return (now_s - rel.first_scheduled_s) * left / rel.num_finished
