"""What is let in keeps its limit: the work that is expected is stretched by how much more others took.

A request that starts is expected to take so much work. How much it really took, by the time that passed and
the speed that the curve gave it meanwhile, is remembered over that by group; what is expected of the next is
stretched by the quantile of the latest which the promise asks for (conformal prediction: Vovk, Gammerman and
Shafer 2005). So whatever no curve of speeds shows is in it, such as a queue within the engine, or another
program on its processor.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from math import ceil, exp

KEPT = 0.97  # of those let in, that are to be in time
LATEST, MEMORY_S = 256, 10.0  # requests of a group that are remembered, and for how long
ENOUGH = 16  # of a group, before which those of all groups tell
SILENT_S = 2.0  # a group of which nobody has ended for so long is taken as all are, lest it stays shut out
MOST_GROUPS = 1000
FIRST = 1.5  # where nothing is known
BEYOND = 2.0  # times as many as kept their limits together may run, for more may show what nothing has shown
LEAST = 16  # that may in any case
PROVEN_S = 60.0  # in which most of that is forgotten
LOOK_S = 0.5  # how often what is long ago is forgotten
CUT = 1.25  # what was given up at its deadline would have taken so much more at least


class Promise:
    """Of one engine.

    Args:
        kept: the share that is to be in time.

    Attributes:
        most: requests with limits that may run at once.
    """

    def __init__(self, kept: float = KEPT) -> None:
        self.kept = kept
        self._all, self._groups = _Latest(kept), OrderedDict[str, _Latest]()
        self._proven, self._proven_s = 0.0, 0.0
        self._now_s = 0.0
        self._expected: dict[str, tuple[str, float]] = {}

    @property
    def most(self) -> float:
        return max(BEYOND * self._proven, LEAST)

    def proved(self, number: int) -> None:
        """So many with limits ran when one of them ended in time."""
        self._proven = max(self._proven, number)

    def stretch(self, group: str) -> float:
        """What the work that is expected of a request of that group is to be multiplied by, at least 1."""
        known = self._groups.get(group)
        if known is None or known.num < ENOUGH or known.latest_s < self._now_s - SILENT_S:
            return self._all.quantile
        return known.quantile

    def started(self, request_id: str, group: str, work: float) -> None:
        """A request starts, which should take so much work."""
        self._expected[request_id] = group, work

    def ended(self, request_id: str, work: float, now_s: float, is_cut: bool = False) -> None:
        """It took so much; 0: nobody can say; `is_cut`: until its deadline, at which it was given up."""
        group, expected = self._expected.pop(request_id, ("", 0.0))
        if expected <= 0 or work <= 0:
            return
        more = work / expected * (CUT if is_cut else 1.0)
        if group not in self._groups and len(self._groups) >= MOST_GROUPS:
            self._groups.popitem(last=False)
        known = self._groups.setdefault(group, _Latest(self.kept))
        self._groups.move_to_end(group)
        known.add(more, now_s)
        self._all.add(more, now_s)

    def passed(self, now_s: float) -> None:
        """Time has passed, and what is long ago is forgotten."""
        self._now_s = now_s
        if 0 <= now_s - self._proven_s < LOOK_S:
            return
        self._proven *= exp(min(self._proven_s - now_s, 0.0) / PROVEN_S)
        self._proven_s = now_s
        for each in (self._all, *self._groups.values()):
            each.forget(now_s - MEMORY_S)


class _Latest:
    """The latest of a group, and their quantile."""

    def __init__(self, kept: float) -> None:
        self._kept, self._values = kept, deque[tuple[float, float]](maxlen=LATEST)
        self._quantile: float | None = FIRST

    @property
    def num(self) -> int:
        return len(self._values)

    @property
    def latest_s(self) -> float:
        return self._values[-1][0]

    @property
    def quantile(self) -> float:
        if self.num < ENOUGH:
            return FIRST
        if self._quantile is None:
            values = sorted([value for _, value in self._values])
            self._quantile = max(values[min(ceil(self._kept * (self.num + 1)), self.num) - 1], 1.0)
        return self._quantile

    def add(self, value: float, now_s: float) -> None:
        self._values.append((now_s, value))
        self._quantile = None

    def forget(self, until_s: float) -> None:
        while self._values and self._values[0][0] < until_s:
            self._values.popleft()
            self._quantile = None
