"""What the page shows, as JSON can hold it."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timezone
from heapq import nlargest
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from relserve.machine.embedded import called
from relserve.machine.engine_status import EngineStatus
from relserve.machine.fleet_status import FleetStatus
from relserve.server.page.counters import BOUNDS_S, OpenAICounts
from relserve.server.page.watch import LEAST_S, ServerLook, ServerWatch
from relserve.session.history import ErrorRecord, QueryRecord
from relserve.version import VERSION

MAX_RUNNING, MAX_ENDED, MAX_ERRORS = 200, 8, 50
MAX_TEXT = 300  # characters of a template, a statement or a message
JUST_NOW_S = 60.0
LAST_S = datetime(9999, 1, 1, tzinfo=timezone.utc).timestamp()
_STOCK = "stock"  # the variant of an engine that serves in vLLM's own order


def status(watch: ServerWatch, now: datetime, started: datetime) -> dict[str, Any]:
    """Everything on the page, after one more look.

    Args:
        now, started: of the wall clock, and when the server started; both with a time zone.
    """
    with watch.lock:
        return _status(watch, watch.look(), now, started)


def _status(watch: ServerWatch, look: ServerLook, now: datetime, started: datetime) -> dict[str, Any]:
    facts = watch.facts
    engines = facts.engines()
    return {
        "time": now.isoformat(),
        "server": {"version": VERSION, "pid": os.getpid(), "started": started.isoformat()},
        "now": _gauges(watch, look),
        "relqueries": _relqueries(watch, outlooks(engines, _ended(watch))),
        "engines": [_engine(engine, now) for engine in engines],
        "fleets": [_fleet(fleet, now) for fleet in facts.fleets()],
        "clients": [
            {**client._asdict(), "since": client.since.isoformat(), "statement": _short(client.statement)}
            for client in facts.clients()
        ],
        "openai": _openai(facts.counters.requests.read()),
        "errors": _errors(facts.errors()),
        "series": _series(watch.steps, look),
    }  # fmt: skip


def _openai(requests: OpenAICounts) -> list[dict[str, Any]]:
    """A row a user whose OpenAI clients have asked."""
    users, ended = sorted({*requests.running, *requests.seconds}), sorted(requests.ended.items())
    return [
        {
            "user": user, "running": requests.running.get(user, 0),
            "codes": {str(code): number for (who, code), number in ended if who == user},
            "tokens": sum(number for (who, _), number in requests.tokens.items() if who == user),
        }
        for user in users
    ]  # fmt: skip


def _gauges(watch: ServerWatch, look: ServerLook) -> dict[str, Any]:
    return {
        "clients": len(watch.facts.clients()),
        "active": look.active,
        "statements": look.counted.statements,
        "errors": sum(look.counted.errors.values()),
        "statements_per_s": watch.pace(lambda each: each.counted.statements),
        "prompt_tokens_per_s": watch.pace(lambda each: each.usage.prompt_tokens),
        "output_tokens_per_s": watch.pace(lambda each: each.usage.output_tokens),
        "running": look.running,
        "waiting": look.waiting,
        "kv_used": look.kv_used,
        **_latencies(watch.steps, look),
    }


def _latencies(steps: Sequence[ServerLook], look: ServerLook) -> dict[str, Any]:
    """Within how many seconds half and 99 % of the latest statements ended; `BOUNDS_S` rounds them up."""
    base = next((step for step in reversed(steps) if look.at_s - step.at_s >= JUST_NOW_S), None)
    before = base.counted.buckets if base is not None else (0,) * len(look.counted.buckets)
    counts = [now - then for now, then in zip(look.counted.buckets, before, strict=True)]
    return {"half_within_s": _within(counts, 0.5), "nearly_all_within_s": _within(counts, 0.99)}


def _within(counts: Sequence[int], share: float) -> float | None:
    """None where nothing ended, or where the answer lies beyond the last bound."""
    wanted, reached = share * sum(counts), 0
    for bound, count in zip(BOUNDS_S, counts, strict=False):
        reached += count
        if reached and reached >= wanted:
            return bound
    return None


def _relqueries(watch: ServerWatch, known: dict[str, _QueueOutlook]) -> list[dict[str, Any]]:
    """Those that run, as their engines serve them, then those that began last of the others."""
    running = [(user, each) for user, each in watch.queries if each.state == "running"]
    running.sort(key=lambda query: (_place(known.get(query[1].rel_id)), query[1].started))
    others = (query for query in watch.queries if query[1].state != "running")
    ended = nlargest(MAX_ENDED, others, key=lambda query: query[1].started)
    return [
        _relquery(user, each, known.get(each.rel_id), watch.tokens_per_s(each.rel_id))
        for user, each in running[:MAX_RUNNING]
    ] + [_relquery(user, each, None, None) for user, each in ended]


def _ended(watch: ServerWatch) -> set[str]:
    return {each.rel_id for _, each in watch.queries if each.state != "running"}


def _place(outlook: _QueueOutlook | None) -> float:
    """What no engine knows comes last."""
    return math.inf if outlook is None else outlook.place


def _relquery(
    user: str, record: QueryRecord, outlook: _QueueOutlook | None, pace: float | None
) -> dict[str, Any]:
    return {
        "rel_id": record.rel_id, "user": user, "function": record.function,
        "template": _short(record.template), "model": called(record.model),
        "state": record.state, "started": record.started.isoformat(),
        "seconds": record.seconds, "rows": record.num_rows,
        "done": min(record.num_rows, record.num_null + record.num_rows_done), "failed": record.num_failed,
        "prompts": record.num_distinct, "cached": record.num_cached, "tokens_per_s": pace,
        "tokens": record.usage.prompt_tokens + record.usage.output_tokens, "cost": record.cost,
        "place": outlook and outlook.place, "phase": outlook and outlook.phase,
        "priority": outlook and _finite(outlook.priority), "left_s": outlook and _finite(outlook.left_s),
        "end": _clock(None if outlook is None else outlook.end_s),
        "error": _short(record.error),
    }  # fmt: skip


def _engine(engine: EngineStatus, now: datetime) -> dict[str, Any]:
    return {
        "pid": engine.pid, "model": called(engine.model), "variant": engine.variant,
        "running": engine.running, "waiting": engine.waiting, "kv_used": engine.kv_used,
        "steps": msgspec.to_builtins(engine.budget),
        "relqueries": engine.num_rels, "silent_s": max(now.timestamp() - engine.written_s, 0.0),
    }  # fmt: skip


def _fleet(fleet: FleetStatus, now: datetime) -> dict[str, Any]:
    return {
        "pid": fleet.pid, "model": fleet.model, "policy": fleet.policy, "relqueries": fleet.queries,
        "waiting": fleet.waiting, "silent_s": max(now.timestamp() - fleet.written_s, 0.0),
        "members": [
            {**msgspec.to_builtins(each), "shown": each.shown, "why": _short(each.why)}
            for each in fleet.members
        ],
    }  # fmt: skip


def _errors(errors: Iterable[tuple[str, ErrorRecord]]) -> list[dict[str, Any]]:
    """The latest failed rows, the newest first; of one relQuery and kind together, with the last message.

    Prompts are left out: they hold the rows' data.
    """
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for user, error in sorted(errors, key=lambda each: each[1].at):
        key = (error.rel_id, str(error.failure.kind))
        rows = groups.pop(key, {"rows": 0})["rows"] + error.num_rows
        groups[key] = {
            "rel_id": error.rel_id, "user": user, "function": error.function, "kind": key[1],
            "message": _short(error.failure.message), "rows": rows, "at": error.at.isoformat(),
        }  # fmt: skip
    return list(groups.values())[: -MAX_ERRORS - 1 : -1]


def _series(steps: Sequence[ServerLook], look: ServerLook) -> list[dict[str, Any]]:
    """What went on between one step and the next, and from the last one to now."""
    pairs = pairwise([*steps, look])
    return [_step(begin, end, look.at_s) for begin, end in pairs if end.at_s - begin.at_s >= LEAST_S]


def _step(begin: ServerLook, end: ServerLook, now_s: float) -> dict[str, Any]:
    seconds = end.at_s - begin.at_s
    return {
        "ago_s": round(now_s - end.at_s, 1),
        "prompt_tokens_per_s": round((end.usage.prompt_tokens - begin.usage.prompt_tokens) / seconds, 1),
        "output_tokens_per_s": round((end.usage.output_tokens - begin.usage.output_tokens) / seconds, 1),
        "statements_per_s": round((end.counted.statements - begin.counted.statements) / seconds, 2),
        "running": end.running, "waiting": end.waiting, "kv_used": end.kv_used, "active": end.active,
    }  # fmt: skip


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _finite(number: float | None) -> float | None:
    """JSON knows no infinity."""
    return number if number is not None and math.isfinite(number) else None


def _clock(seconds: float | None) -> str | None:
    """None for what no calendar holds, too."""
    if seconds is None or not abs(seconds) < LAST_S:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


class _QueueOutlook(NamedTuple):
    """How a relQuery stands in its engine.

    Attributes:
        place: in the order in which the engine serves, 1 for the first.
        left_s: of its own work, as the engine predicts it.
        end_s: when it should end, in seconds of the wall clock; None when nothing tells.
    """

    place: int
    phase: str
    priority: float | None
    left_s: float | None
    end_s: float | None


def outlooks(engines: Iterable[EngineStatus], ended: Collection[str] = ()) -> dict[str, _QueueOutlook]:
    """By relQuery's id, for those that an engine knows.

    relserve's scheduler predicts the work of each relQuery alone and serves in order, so a relQuery ends
    after its own work and that of those before it. What a stock engine tells is the pace of all together.

    Args:
        ended: relQueries that have, though their engines may still wait for rows that failed.
    """
    found = {}
    for engine in engines:
        before_s: float | None = 0.0
        rels = (rel for rel in engine.rels if rel.rel_id not in ended)
        for place, rel in enumerate(rels, start=1):
            left_s = rel.left_s
            wait_s = None if before_s is None or left_s is None else before_s + left_s
            end_s = None if wait_s is None else engine.written_s + wait_s
            found[rel.rel_id] = _QueueOutlook(place, rel.phase, rel.priority, left_s, end_s)
            before_s = 0.0 if engine.variant == _STOCK else wait_s
    return found
