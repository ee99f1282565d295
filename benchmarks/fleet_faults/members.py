"""Faults of members: the fleet is this process's own, and its members are children of it or Ray actors."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.fleet_faults.asked import LOOK_S, RowsUnderWay, num_lost
from benchmarks.fleet_faults.ideal import SLOWED_TO
from benchmarks.fleet_faults.left import Process, came_of, in_thread, left
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import FleetMember, State
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.settings import load

START_S = 300.0
PERIOD_S = 0.06  # of a slowed member, which runs for a part of it
TRIES = 5
ELSEWHERE = ("actor", "engine", "frozen")  # kinds whose rows are to go elsewhere; a slow one answers its own

Texts = dict[int, str | None]
Found = dict[str, Any]


class Members:
    """A fleet of two, both up."""

    def __init__(self, path: Path) -> None:
        name, self._before = f"fleet:{path}", came_of(os.getpid())
        engine = own_engine(name, path_of(name), load(), lambda text: print(f"  {text}", file=sys.stderr))
        assert isinstance(engine, FleetEngine)
        self.fleet, self._seen = engine, set[Process]()
        spawn(engine.start()).result(START_S)
        self.wait_until_up()

    @property
    def members(self) -> list[FleetMember]:
        """In the order of the file."""
        return list(self.fleet.roster.members.values())

    def wait_until_up(self, dead: FleetMember | None = None, life: int = -1) -> None:
        """Until each member is up, and says something; one that was killed in some life, in a later one."""
        deadline_s = time.monotonic() + START_S
        while (dead and dead.life <= life) or not all(_is_well(each) for each in self.members):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"not up after {START_S:g} s: {[each.why for each in self.members]}")
            time.sleep(0.02)
        self._seen |= came_of(os.getpid()) - self._before

    def one_s(self, rows: Sequence[str], times: int) -> list[float]:
        """Seconds of the relQuery with nobody disturbed, by one member alone; each in turn."""
        found = []
        for number in range(times):
            other = self.members[number % 2].name
            _on_loop(lambda other=other: self.fleet.drain(other))
            asked = RowsUnderWay(self.fleet, rows)
            asked.result()
            found.append(asked.seconds)
            _on_loop(lambda other=other: self.fleet.resume(other))
        return found

    def both_s(self, rows: Sequence[str], times: int) -> list[float]:
        """Seconds of the relQuery with nobody disturbed, by both members."""
        asked = []
        for _ in range(times):
            asked.append(RowsUnderWay(self.fleet, rows))
            asked[-1].result()
        return [each.seconds for each in asked]

    def fault(self, kind: str, which: int, rows: Sequence[str], at: int, expected: Texts) -> Found:
        """A relQuery over all members, of which one has a fault once so many rows are answered."""
        self.wait_until_up()
        member = self.members[which]
        life = member.life
        pid, others = _pids(member, kind)
        asked, had = self._under_way(member, rows, at)
        answered, began_s = len(asked.num), time.perf_counter()
        with _disturbed(kind, pid):
            orphans = in_thread(lambda: left(others))
            elsewhere_s = self._elsewhere_s(member, had, began_s) if kind in ELSEWHERE else None
            error = asked.error()
        if kind == "frozen":
            began_s = time.perf_counter()  # when it may go on
        self.wait_until_up(member if others else None, life)
        back_s = time.perf_counter() - began_s
        return {
            "kind": kind, "member": member.name, "at": answered, "had": len(had), "s": asked.seconds,
            "elsewhere_s": None if error else elsewhere_s, "back_s": None if kind == "slowed" else back_s,
            "error": error, "lost": num_lost(expected, asked.texts), "twice": asked.num_twice,
            "orphans": orphans.result(),
        }  # fmt: skip

    def _under_way(self, member: FleetMember, rows: Sequence[str], at: int) -> tuple[RowsUnderWay, list[int]]:
        """A relQuery of which so many rows or more are answered, and the rows that this member has of it."""
        for _ in range(TRIES):
            asked = RowsUnderWay(self.fleet, rows)
            asked.wait_for(at)
            while not asked.is_over:
                if had := _on_loop(lambda: _rows_with(self.fleet, member)):
                    return asked, had
                time.sleep(LOOK_S)
            asked.result()
        raise RuntimeError(f"{member.name} had no rows once {at:,} were answered, {TRIES} times")

    def _elsewhere_s(self, member: FleetMember, rows: list[int], began_s: float) -> float:
        """Seconds until each of these rows is answered, or another member has it."""
        while _on_loop(lambda: _some_wait(self.fleet, member, rows)):
            time.sleep(0.01)
        return time.perf_counter() - began_s

    def close(self) -> int:
        """End it; gives how many of all the processes that it ever had are left."""
        self._seen |= came_of(os.getpid()) - self._before
        spawn(self.fleet.close()).result(START_S)
        return left(self._seen, 20.0)  # Ray is kept for 5 s for members that come back


def places(rng: random.Random, times: int, rows: int) -> list[int]:
    """Rows at which faults come; the member is to have something left then."""
    return [rng.randrange(rows // 20, rows * 7 // 10) for _ in range(times)]


def _is_well(member: FleetMember) -> bool:
    return member.state is State.UP and not member.silent


def _pids(member: FleetMember, kind: str) -> tuple[int, set[Process]]:
    """The process that has the fault, and those that are to be gone with it, if it dies."""
    assert member.launched is not None
    engine: Any = member.launched.engine
    if kind == "actor":
        processes = engine.up.processes
        return processes[0][0], set(processes)
    return engine.pid, came_of(engine.pid, itself=True) if kind == "engine" else set()


@contextmanager
def _disturbed(kind: str, pid: int) -> Iterator[None]:
    """While inside, a process has the fault; killed ones for ever."""
    if kind not in ("frozen", "slowed"):
        os.kill(pid, signal.SIGKILL)
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_stop_and_go, args=(pid, over, kind == "slowed"))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _stop_and_go(pid: int, over: threading.Event, slowed: bool) -> None:
    while not over.is_set():
        os.kill(pid, signal.SIGSTOP)
        over.wait(PERIOD_S * (1 - SLOWED_TO) if slowed else None)
        os.kill(pid, signal.SIGCONT)
        over.wait(PERIOD_S * SLOWED_TO)


def _on_loop(work: Any) -> Any:
    async def do() -> Any:
        return work()

    return spawn(do()).result(START_S)


def _rows_with(fleet: FleetEngine, member: FleetMember) -> list[int]:
    return [row for handout in fleet._handouts for row in handout._rows_with(member)]


def _some_wait(fleet: FleetEngine, member: FleetMember, rows: list[int]) -> bool:
    for handout in fleet._handouts:
        holders = {row: [its.member.name for its in handout._held.get(row, ())] for row in rows}
        if waiting(member.name, holders, handout.unanswered):
            return True
    return False


def waiting(name: str, holders: Mapping[int, Collection[str]], unanswered: Collection[int]) -> list[int]:
    """Rows that have no answer while nobody but one member has them; those that nobody has wait, too."""
    return [row for row, names in holders.items() if row in unanswered and not set(names) - {name}]
