"""How long a choice takes: every router over made-up states."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from relserve.policies.cost import CostModel
from relserve.policies.dispatch.board import Board
from relserve.policies.dispatch.state import Member, Report, Request
from relserve.policies.dispatch.variants import NAMES, make

COST = CostModel(2.7e-5, 3e-3, 2e-5, 9e-3, 3e-3)


def choices_us(sizes: Sequence[int], number: int) -> list[list[Any]]:
    """Members, router, median and P99 of `number` choices in microseconds of CPU time."""
    return [[size, name, *_measure(size, name, number)] for size in sizes for name in NAMES]


def _measure(size: int, name: str, number: int) -> list[float]:
    board, draw, policy = Board(), random.Random(size), make(name)
    for i in range(size):
        board.join(Member(f"m{i}", COST, 8192, 4e5, draw.random()))
        tokens, rows = 9000 * draw.random(), draw.randrange(40)
        report = Report(0.01, tokens, rows, 3, 2e5, 37_000, tokens / 2, 90.0 * rows, 200.0)
        board.report(f"m{i}", report, 0.0)
    times = []
    for i in range(number):
        request = Request(400, 200, 1.0, 0.02, f"s{i % 50}", {f"m{i % size}": 100.0})
        started = time.thread_time()
        row = policy.choose(request, board, 0.001 * i)
        times.append(time.thread_time() - started)
        board.sent(row, request, 0.001 * i)
    return [1e6 * float(np.median(times)), 1e6 * float(np.percentile(times, 99))]
