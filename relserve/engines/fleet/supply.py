"""The rows of a relQuery that no member has; those with a common beginning go to one member, if they can."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from relserve.call.relquery import Reply, Submission
from relserve.engines.local.admitted import Admitted
from relserve.errors import AdmissionError, Failure, FailureKind
from relserve.gate.gate import Gate
from relserve.policies.dispatch.instalments import groups

_MOST = 256  # rows that are let in at once


class Supply:
    """Gives rows out and takes them back.

    Args:
        waits: whether rows are to be `let_in` before they are given; else all are there.

    Attributes:
        order: of the rows, in which those of a group follow each other.
    """

    def __init__(self, prompts: Sequence[str], waits: bool = False) -> None:
        self._prompts = prompts
        found = groups(prompts, range(len(prompts)))
        self.order = [row for group in found for row in group]
        self._groups: deque[deque[int]] = deque() if waits else deque(map(deque, found))
        self._begun: dict[str, deque[int]] = {}  # the group that a member had the latest rows of
        self._num = 0 if waits else len(prompts)
        self._group_of: dict[int, deque[int]] = {}
        for group in found if waits else ():
            empty = deque[int]()
            self._group_of |= dict.fromkeys(group, empty)

    def __len__(self) -> int:
        return self._num

    def peek(self) -> int:
        """A row that would be given next."""
        return next(group[0] for group in self._groups if group)

    def take(self, num: int, name: str) -> list[int]:
        """So many rows for a member: of the group that it began, then of others that nobody began."""
        found: list[int] = []
        while len(found) < num and self._num:
            group = self._next(name)
            while group and len(found) < num:
                found.append(group.popleft())
                self._num -= 1
        return found

    def _next(self, name: str) -> deque[int]:
        """The group that a member goes on with."""
        own = self._begun.get(name)
        if own:
            return own
        while self._groups and not self._groups[0]:
            self._groups.popleft()
        others = {id(group) for each, group in self._begun.items() if each != name}
        found = next((g for g in self._groups if g and id(g) not in others), None)
        if found is None:  # all are begun: the rest of the largest
            found = max(self._groups, key=len)
        self._begun[name] = found
        return found

    def let_in(self, rows: Sequence[int]) -> None:
        """Rows may be given, after those that are there."""
        for row in rows:
            group = self._group_of[row]
            if not any(group is each for each in reversed(self._groups)):
                self._groups.append(group)
            group.append(row)
        self._num += len(rows)

    def put_back(self, rows: Iterable[int]) -> None:
        """Rows are to be given again, before all others."""
        found = list(rows)
        self._groups.extendleft(reversed([deque(group) for group in groups(self._prompts, found)]))
        self._num += len(found)


class Entrance:
    """Rows come to the supply as the gate lets them in, all at once where it is open.

    How far members' rows are is not seen here: to the gate whole answers tell of speeds.

    Args:
        supply: without its rows, unless the gate is open.
        news: called when rows have come in, or were turned away.
        take: takes the reply of a row that is not let in before its deadline.
        over: told that no more rows come, by the task that let them in, whatever ended it.
    """

    def __init__(
        self, gate: Gate, submission: Submission, supply: Supply, news: Callable[[], None],
        take: Callable[[int, Reply], None], over: Callable[[asyncio.Task[None]], None],
    ) -> None:  # fmt: skip
        self._supply, self._news, self._take, self._over = supply, news, take, over
        self._admitted = None if gate.is_open else Admitted(gate, submission)
        self._feeding: asyncio.Task[None] | None = None
        self.num_waiting = 0 if gate.is_open else len(submission.prompts)

    def open(self) -> None:
        """The rows come."""
        if self._admitted is not None:
            self._feeding = asyncio.ensure_future(self._feed(self._admitted))
            self._feeding.add_done_callback(self._over)

    def ended(self, row: int, reply: Reply) -> None:
        """A row has its reply."""
        if self._admitted is not None:
            self._admitted.ended(row, reply)

    def leave(self) -> None:
        """Give up what waits and runs."""
        if self._feeding is not None:
            self._feeding.cancel()
        if self._admitted is not None:
            self._admitted.leave()

    async def _feed(self, admitted: Admitted) -> None:
        rows = self._supply.order
        admitted.come(len(rows))
        begin = 0
        while begin < len(rows):
            try:
                num = await admitted.take(rows[begin : begin + _MOST])
            except AdmissionError as error:
                self.num_waiting = 0
                late = Failure(FailureKind.DEADLINE, str(error))
                for row in rows[begin:]:
                    self._take(row, Reply(row, None, late, is_unsent=True))
                self._news()
                return
            self._supply.let_in(rows[begin : begin + num])
            begin += num
            self.num_waiting -= num
            self._news()
