"""How long a choice takes, every router over made-up states, and what its owner does beside choosing."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from relserve.engines.fleet.state_channel import StateChannel
from relserve.machine.state_message import encode
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.router import Asked, Router
from relserve.policies.dispatch.state import Member, Report, Request
from relserve.policies.dispatch.variants import NAMES, make
from relserve.policies.model.linear import CostModel

REPORT = "(a report)"
COST = CostModel(2.7e-5, 3e-3, 2e-5, 9e-3, 3e-3)


def choices_us(sizes: Sequence[int], number: int) -> list[list[Any]]:
    """Members, router or REPORT, median and P99 of `number` in microseconds of CPU time."""
    found = [[size, name, *_choices(size, name, number)] for size in sizes for name in NAMES]
    return [*found, *[[size, REPORT, *_reports(size, number)] for size in sizes]]


def _members(size: int) -> MemberTable:
    members, draw = MemberTable(), random.Random(size)
    for i in range(size):
        members.join(Member(f"m{i}", COST, 8192, 4e5, draw.random()))
        members.report(f"m{i}", _report(draw, 0), 0.0)
    return members


def _report(draw: random.Random, sequence: int, seen: int = -1) -> Report:
    tokens, rows = 9000 * draw.random(), draw.randrange(40)
    known = (0.01, tokens, rows, 3, 2e5, 37_000, tokens / 2, 90.0 * rows, 200.0)
    return Report(*known, sequence=sequence, seen=seen, cost=COST)


def _reports(size: int, number: int) -> list[float]:
    """Of members with 20 requests each, some of which are not in the report."""
    members, draw, times = _members(size), random.Random(1), []
    sent = [members.sent(i % size, Request(400, 200), 0.0) for i in range(20 * size)]
    for i in range(number):
        report = _report(draw, 1 + i, sent[-1] - 3 * size)
        started = time.thread_time()
        members.report(f"m{i % size}", report, 0.001 * i)
        times.append(time.thread_time() - started)
    return [1e6 * float(np.median(times)), 1e6 * float(np.percentile(times, 99))]


def _choices(size: int, name: str, number: int) -> list[float]:
    members, policy, times = _members(size), make(name), []
    for i in range(number):
        request = Request(400, 200, 1.0, 0.02, {f"m{i % size}": 100.0})
        started = time.thread_time()
        row = policy.choose(request, members, 0.001 * i)
        times.append(time.thread_time() - started)
        members.sent(row, request, 0.001 * i)
    return [1e6 * float(np.median(times)), 1e6 * float(np.percentile(times, 99))]


def requests_us(size: int, number: int) -> float:
    """A request in the router of `ours`, from its choice to its end: the mean of `number`, in CPU time."""
    router, ended = Router(make("ours"), _members(size)), 20 * size
    asked = [Asked(str(i), 400, 1e4, 1.0, 0.02) for i in range(number + ended)]
    for each in asked[:ended]:
        router.put([each], router.members.names[int(each.request_id) % size], 0.0)
    started = time.thread_time()
    for i, each in enumerate(asked[ended:]):
        router.send(each, 0.001 * i)
        router.ended(asked[i].request_id, 0.001 * i, 200.0)
    return 1e6 * (time.thread_time() - started) / number


def datagrams_us(size: int, number: int) -> float:
    """A report from its datagram in the socket until the members table has it: mean of `number`, CPU time.

    Args:
        number: a multiple of 50, which come together.
    """
    return asyncio.run(_take(size, number))


async def _take(size: int, number: int, together: int = 50) -> float:
    members, draw, took_s, taken = _members(size), random.Random(1), 0.0, asyncio.Event()

    def take(name: str, report: Report) -> None:
        members.report(name, report, 0.001 * report.sequence)
        if not report.sequence % together:
            taken.set()

    seen = [members.sent(i % size, Request(400, 200), 0.0) for i in range(20 * size)][-1] - 3 * size
    channel = StateChannel(take)
    await channel.open()
    targets = [channel.expect(f"m{i}") for i in range(size)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for first in range(0, number + together, together):  # the first of them warm up
            for i in range(first, first + together):
                target = targets[i % size]
                sender.sendto(encode(_report(draw, 1 + i, seen), target, 0.0), target.host_and_port)
            started = time.thread_time()
            await asyncio.wait_for(taken.wait(), 10)
            took_s += time.thread_time() - started if first else 0.0
            taken.clear()
    channel.close()
    return 1e6 * took_s / number
