"""What the owner of a large fleet has to do, on paper: which share of its time requests and reports take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.fleet.choices import datagrams_us, requests_us
from benchmarks.fleet.plan import PER_ENGINE
from benchmarks.fleet.systems import EVERY_S

SIZES, OWNERS = (64, 1000, 4000), (1, 4, 16)


class OwnerCosts(NamedTuple):
    """Microseconds of an owner's one thread, with so many members."""

    engines: int
    request_us: float
    report_us: float


class OwnerLoad(NamedTuple):
    """Of each of so many owners; shares of its time in percent, more than 100 is more than it can do.

    Attributes:
        reports: share of reports, where every member tells every owner as often as it would tell one.
        rarer: the same, where members tell each owner so many times more rarely as there are owners.
    """

    engines: int
    owners: int
    requests: float
    reports: float
    total: float
    rarer: float
    rarer_total: float


def costs(sizes: Sequence[int] = SIZES, number: int = 1000) -> list[OwnerCosts]:
    """Measured now."""
    return [OwnerCosts(size, requests_us(size, number), datagrams_us(size, number)) for size in sizes]


def on_paper(measured: Sequence[OwnerCosts], owners: Sequence[int] = OWNERS) -> list[OwnerLoad]:
    """What owners have to do at `PER_ENGINE` requests a second to each engine."""
    found = []
    for engines, request_us, report_us in measured:
        for number in owners:
            requests = 1e-4 * engines * PER_ENGINE * request_us / number
            reports = 1e-4 * engines / EVERY_S * report_us
            rarer = reports / number
            found.append(
                OwnerLoad(engines, number, requests, reports, requests + reports, rarer, requests + rarer)
            )
    return found


def most_engines(measured: OwnerCosts) -> float:
    """How many engines fill one owner's time, if each costs it as much as each of these."""
    return 1e6 / (PER_ENGINE * measured.request_us + measured.report_us / EVERY_S)
