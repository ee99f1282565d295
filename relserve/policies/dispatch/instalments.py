"""How a relQuery is handed out over members that work at different speeds: how much to whom, and what twice.

A member has as many rows as keep it busy for a little while, by the speed that it has shown; what it has
beyond the others' end is the risk, so instalments shrink as the rest does. When nothing is left to hand out,
rows of a member that needs much longer than an idle one would are asked a second time there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, inf

FIRST_ROWS = 256  # that a member gets before it has shown its speed, where nobody says how many it can run
LEAST_ROWS = 16  # so few are not worth two instalments
BUSY_S = 0.5  # work that waits at a member, so that it never runs dry
MEMORY_S = 2.0  # how far back a speed is measured
UNKNOWN_S = 1.0  # that a row is taken to last before any has ended
SLOWER, MARGIN_S = 1.5, 0.1  # a second attempt is to be so much quicker than what is left of the first
GROUP_CHARS = 64  # that rows share beyond what all do, to be kept together: about a block of tokens


@dataclass
class Pace:
    """How quickly one member answers the rows of one relQuery.

    Attributes:
        num_out: rows that it has.
        num_came: rows that it has answered.
        typical_s: mean seconds of a row while it had little to do: the least of its batches of answers.
        waits_since_s: since when it has rows and has answered none.
    """

    num_out: int = 0
    num_came: int = 0
    typical_s: float = inf
    waits_since_s: float = inf
    _rows: float = 0.0
    _seconds: float = 0.0
    _at_s: float = 0.0

    def sent(self, num: int, now_s: float) -> None:
        """It gets rows."""
        if not self.num_out:
            self._at_s = self.waits_since_s = now_s
        self.num_out += num

    def came(self, num: int, mean_s: float, now_s: float) -> None:
        """It has answered rows, which took so long each."""
        fade = exp((self._at_s - now_s) / MEMORY_S)
        self._rows = self._rows * fade + num
        self._seconds = self._seconds * fade + now_s - self._at_s
        self._at_s = self.waits_since_s = now_s
        self.typical_s = min(self.typical_s, mean_s)
        self.num_came += num
        self.gone(num)

    def gone(self, num: int) -> None:
        """It has rows no more, answered or not."""
        self.num_out -= num
        if not self.num_out:
            self.waits_since_s = inf

    def rate(self, now_s: float) -> float:
        """Rows a second of late; less the longer it is silent over rows, 0 where it never answered any."""
        if not self.num_came:
            return 0.0
        silent_s = now_s - self._at_s if self.num_out else 0.0
        fade = exp(-silent_s / MEMORY_S)
        return self._rows * fade / max(self._seconds * fade + silent_s, 1e-6)

    def remaining_s(self, now_s: float, usual_s: float) -> float:
        """Seconds until it has answered what it has; of one that never did, as long again as it took so far.

        Args:
            usual_s: that a row lasts, by others.
        """
        if not self.num_out:
            return 0.0
        if self.num_came:
            return self.num_out / max(self.rate(now_s), 1e-9)
        age_s = now_s - self.waits_since_s
        return usual_s - age_s if age_s < usual_s else age_s

    def room(self, first: int, now_s: float) -> int:
        """Rows that it may get more.

        Args:
            first: that it gets before it has shown its speed.
        """
        enough = first if not self.num_came else ceil(self.rate(now_s) * (self.typical_s + BUSY_S))
        return max(enough, LEAST_ROWS) - self.num_out


def shown_rates(paces: Mapping[str, Pace], weights: Mapping[str, float], now_s: float) -> dict[str, float]:
    """Rows a second of members, as far as they are shown; of others by their weights, beside those."""
    shown = {name: rate for name in weights if name in paces and (rate := paces[name].rate(now_s)) > 0}
    a_unit = sum(shown.values()) / sum(weights[name] for name in shown) if shown else 1.0
    return {name: shown.get(name, weight * a_unit) for name, weight in weights.items()}


def size(rest: int, room: int, share: float) -> int:
    """Rows of a member's next instalment: half of what its speed entitles it to, few at the end; 0: none yet.

    Args:
        rest: rows that nobody has.
        room: as of `Pace.room`.
        share: of its speed in that of all members.
    """
    wanted = max(ceil(rest * share / 2), LEAST_ROWS)
    if room < min(LEAST_ROWS, rest):
        return 0
    return min(rest if rest - wanted < LEAST_ROWS / 2 else wanted, room, rest)


def num_again(slow: Pace, quick: Pace, rows: int, now_s: float, usual_s: float) -> int:
    """How many of a slow member's rows an idle one is to be asked, too; 0: it would not help.

    Args:
        rows: that the slow one has and the other has not.
        usual_s: that a row lasts, by what is known of all.
    """
    rate, other = quick.rate(now_s), slow.rate(now_s)
    num = ceil(rows * rate / (rate + other)) if rate > 0 else rows
    typical_s = min(quick.typical_s, usual_s)
    needed_s = typical_s + (num / rate if rate > 0 else 0.0)
    return num if slow.remaining_s(now_s, usual_s) > SLOWER * needed_s + MARGIN_S else 0


def groups(prompts: Sequence[str], indices: Sequence[int]) -> list[list[int]]:
    """Rows that share a long beginning, beyond what all share, kept together; groups by their first row.

    Args:
        indices: of the prompts that are meant.
    """
    if len(indices) < 2:
        return [list(indices)] if indices else []
    order = sorted(indices, key=prompts.__getitem__)
    common = num_shared(prompts[order[0]], prompts[order[-1]])
    found = [[order[0]]]
    for index in order[1:]:
        before = prompts[found[-1][0]]
        end = common + GROUP_CHARS
        if len(before) >= end and prompts[index].startswith(before[:end]):
            found[-1].append(index)
        else:
            found.append([index])
    return sorted([sorted(group) for group in found], key=lambda group: group[0])


def num_shared(one: str, other: str) -> int:
    """Characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
