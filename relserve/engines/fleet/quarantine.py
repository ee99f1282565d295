"""Rows under which members died again and again: asked alone, until it is sure which of them it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from relserve.engines.fleet.member import FleetMember

if TYPE_CHECKING:
    from relserve.engines.fleet.instalment import Instalment

AFTER = 2  # members that died with a row, from when on it is a suspect
TOGETHER = 16  # suspects that are asked at once; those under whom one more member died go one by one
MOST_DEATHS = 3  # and the row fails, where it was alone with the last of them
PATIENCE_S = 2.0  # a suspect may take so long, twice as long the next time there, and is asked elsewhere


class Quarantine:
    """The suspects of one submission.

    A member that has suspects has nothing else, so that its death tells something.

    Attributes:
        deaths: of members that had a row, by row.
        rows: suspects that are to be asked.
        kept: the members that are kept free for suspects, with what they have of them.
    """

    def __init__(self) -> None:
        self.deaths: dict[int, int] = {}
        self.rows: list[int] = []
        self.kept: dict[FleetMember, Instalment | None] = {}
        self._late: Counter[str] = Counter()  # how often a member was, by name

    def blame(self, rows: Iterable[int]) -> None:
        """A member died with these rows."""
        for row in rows:
            self.deaths[row] = self.deaths.get(row, 0) + 1

    def is_suspect(self, row: int) -> bool:
        """Whether a row is to be asked alone."""
        return self.deaths.get(row, 0) >= AFTER

    def is_sure(self, row: int) -> bool:
        """Whether a row that was alone with a dead member is why it died."""
        return self.deaths.get(row, 0) >= MOST_DEATHS

    def take_in(self, rows: Iterable[int]) -> list[int]:
        """Takes the suspects of rows that are to be asked again; gives the others."""
        found = list(rows)
        self.rows += filter(self.is_suspect, found)
        return [row for row in found if not self.is_suspect(row)]

    def next_rows(self) -> list[int]:
        """The suspects that are to be asked together next, those with the most deaths first."""
        worst = max(self.deaths[row] for row in self.rows)
        among = [row for row in self.rows if self.deaths[row] == worst]
        found = among[: TOGETHER if worst == AFTER else 1]
        self.rows = [row for row in self.rows if row not in found]
        return found

    def keep_one(self, members: Iterable[FleetMember]) -> FleetMember:
        """A member that gets nothing from anybody else now; one that was not late before, if there is one."""
        member = min(members, key=lambda each: (self._late[each.name], each.num_rows))
        member.kept_for = self
        self.kept[member] = None
        return member

    def release(self, member: FleetMember) -> None:
        """Others may, again."""
        if member.kept_for is self:
            member.kept_for = None
        self.kept.pop(member, None)

    def release_all(self) -> None:
        """The submission is over."""
        for member in list(self.kept):
            self.release(member)

    def is_late(self, its: Instalment, now_s: float, usual_s: float) -> bool:
        """Whether suspects have been with a member for too long; then the next ones may take longer there."""
        patience_s = max(PATIENCE_S, 10 * usual_s) * 2 ** self._late[its.member.name]
        if not its.member.silent and now_s - its.sent_s < patience_s:
            return False
        self._late[its.member.name] += 1
        return True
