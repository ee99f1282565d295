"""What became of an attack."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from benchmarks.attacks.house import MARKER, AttackedDatabase
from relserve.errors import LimitError, RelserveError, UnsafeSqlError

GRACE_S = 10.0  # beyond the limit of time: DuckDB ends no call before it has done its rows
FORBIDDEN = (MARKER, "root:x:0")
Way = Callable[[str], object]


@dataclass
class AttackOutcome:
    """What became of the attacks of one kind.

    Attributes:
        ended: how many ended in which way.
        escaped: what one of them did that it should not.
        longest_s: seconds of the slowest.
        most_mb: what the process grew by at most during one.
        said: the errors, of the attacks in order.
    """

    name: str
    cases: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    escaped: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    most_mb: float = 0.0
    said: list[str] = field(default_factory=list)

    def add(self, other: AttackOutcome) -> None:
        """Take another one's attacks as one's own."""
        self.cases += other.cases
        self.ended += other.ended
        self.escaped += other.escaped
        self.said += other.said
        self.longest_s = max(self.longest_s, other.longest_s)
        self.most_mb = max(self.most_mb, other.most_mb)


class AttackJudge:
    """Has attacks made and looks at the house afterwards.

    Args:
        seconds: the limit of time that the attacks run under.
    """

    def __init__(self, house: AttackedDatabase, seconds: float) -> None:
        self._house, self._seconds = house, seconds

    def judge(
        self, name: str, texts: Iterable[tuple[str, str]], way: Way, may_run: bool = False
    ) -> AttackOutcome:
        """Make attacks of one kind.

        Args:
            texts: name and text of each.
            way: gives what an attacker would see, or raises.
            may_run: whether they may end well, being harmless but for their size.
        """
        outcome, before = AttackOutcome(name), self._house.state(whole=True)
        for label, text in texts:
            outcome.cases += 1
            with _Memory() as memory:
                began = time.monotonic()
                ended, seen = self._made(self._house.filled(text), way)
                took_s = time.monotonic() - began
            outcome.ended[ended] += 1
            outcome.said.append(f"{label[:100]} => {ended}: {seen[:200]}")
            outcome.longest_s = max(outcome.longest_s, took_s)
            outcome.most_mb = max(outcome.most_mb, memory.most_mb)
            for wrong in self._wrongs(ended, seen, took_s, may_run):
                outcome.escaped.append(f"{label[:100]}: {wrong}")
            if (now := self._house.state()) != before[: len(now)]:
                outcome.escaped.append(f"{label[:100]}: something changed")
                before = self._house.state(whole=True)
        if self._house.state(whole=True) != before:
            outcome.escaped.append("settings, functions, types, extensions or secrets changed")
        return outcome

    def _made(self, text: str, way: Way) -> tuple[str, str]:
        try:
            return "ran", str(way(text))
        except LimitError as error:
            return f"limit of {error.limit}", str(error)
        except UnsafeSqlError as error:
            return "refused", str(error)
        except RelserveError as error:
            return "refused by the pipeline", str(error)
        except duckdb.ParserException as error:
            return "no SQL", str(error)
        except (duckdb.DataError, duckdb.ProgrammingError) as error:
            return "ran into DuckDB's error", str(error)
        except Exception as error:
            return "odd error", f"{type(error).__name__}: {error}"

    def _wrongs(self, ended: str, seen: str, took_s: float, may_run: bool) -> Iterable[str]:
        if any(text in seen for text in FORBIDDEN):
            yield "it shows a secret"
        if ended == "odd error" or (ended.startswith("ran") and not may_run):
            yield f"{ended}: {seen[:200]}"
        if len(seen) < 20 and ended != "ran":
            yield f"an error that says too little: {seen}"
        if took_s > self._seconds + GRACE_S:
            yield f"it took {took_s:.1f} s"
        if self._house.asked:
            yield f"a model would have been asked: {self._house.asked.pop()}"
        if self._house.was_called():
            yield "it called an address"


class _Memory:
    """How much the process grows by, looked at often."""

    def __init__(self) -> None:
        self.most_mb, self._over = 0.0, threading.Event()

    def __enter__(self) -> _Memory:
        self._thread = threading.Thread(target=self._look, args=(_resident_mb(),))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self, before_mb: float) -> None:
        while not self._over.wait(0.02):
            self.most_mb = max(self.most_mb, _resident_mb() - before_mb)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6
