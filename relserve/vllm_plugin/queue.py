"""vLLM's waiting queue, in groups: it shows a step only what the step's plan lets it see."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import NO_ORDER, RelState
from relserve.vllm_plugin.host import HostRequest, RequestQueue
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.step_plan import StepPlan


class RelQueue(RequestQueue):
    """One deque per group of rows, handed out in the order of the latest plan; others come last.

    Args:
        ledger: is told of every row that is put here.
        by_request: whether each row is a group of its own, named by its id; else a relQuery's rows are one.

    Attributes:
        come: those that came since somebody last cleared it, for the first time or again, and still wait.
        order: of relQueries, by the latest plan.
    """

    def __init__(self, ledger: RowLedger, by_request: bool = False) -> None:
        self._ledger, self._by_request = ledger, by_request
        self._rows: dict[str, deque[HostRequest]] = {}
        self._num = 0
        self.come: dict[str, HostRequest] = {}
        self.order: RelQueryOrder[RelState] = NO_ORDER
        self._admit: Sequence[str] | None = None
        self._held: frozenset[str] = frozenset()
        self._upcoming: Iterator[str] = iter(())
        self._head_id: str | None = None

    def rows(self, group: str) -> deque[HostRequest]:
        """The waiting rows of a group, first to go first."""
        return self._rows.get(group, _EMPTY)

    def next_row(self) -> HostRequest | None:
        """The row that would go first in the order of the latest plan; None where none waits."""
        for group in self._groups(self.order, None):
            if rows := self.rows(group):
                return rows[0]
        return None

    def show(self, plan: StepPlan) -> None:
        """Show the rows that a plan lets in, in its order."""
        self.order = NO_ORDER if plan.order is None else plan.order
        self._admit, self._held = plan.admit, plan.held_requests
        self._restart()

    def show_all(self) -> None:
        """Show all rows."""
        self._admit, self._held = None, frozenset()
        self._restart()

    def shown_by(self, plan: StepPlan) -> Iterator[HostRequest]:
        """The rows that a step may admit under a plan, in order; shows nothing else than before."""
        seen: set[str] = set()
        for group in self._groups(NO_ORDER if plan.order is None else plan.order, plan.admit):
            if group not in seen:
                seen.add(group)
                yield from (row for row in self.rows(group) if row.request_id not in plan.held_requests)

    def add_request(self, request: HostRequest) -> None:
        self._deque_for(request).append(request)

    def prepend_request(self, request: HostRequest) -> None:
        self._deque_for(request).appendleft(request)

    def prepend_requests(self, requests: Iterable[HostRequest]) -> None:
        for request in requests:
            self.prepend_request(request)

    def peek_request(self) -> HostRequest:
        return self._first()[1]

    def pop_request(self) -> HostRequest:
        group, request = self._first()
        rows = self._rows[group]
        if rows[0] is request:
            rows.popleft()
        else:
            rows.remove(request)
        self._left(group, 1)
        self.come.pop(request.request_id, None)
        return request

    def remove_request(self, request: HostRequest) -> None:
        self.remove_requests([request])

    def remove_requests(self, requests: Iterable[HostRequest]) -> None:
        gone: dict[str, set[HostRequest]] = {}
        for request in requests:
            gone.setdefault(self._group_of(request), set()).add(request)
            self.come.pop(request.request_id, None)
        for group, leaving in gone.items():
            before = self.rows(group)
            if before:
                kept = self._rows[group] = deque(r for r in before if r not in leaving)
                self._left(group, len(before) - len(kept))

    def __contains__(self, request: HostRequest) -> bool:
        return request in self.rows(self._group_of(request))

    def __bool__(self) -> bool:
        if self._admit is None and not self._held:
            return self._num > 0
        return self._find() is not None

    def __len__(self) -> int:
        return self._num

    def __iter__(self) -> Iterator[HostRequest]:
        for group in dict.fromkeys(self._groups(self.order, None)):
            yield from list(self.rows(group))

    def __getitem__(self, index: int) -> HostRequest:
        """The row in this place of the order, as vLLM's own queue has it; takes as long as there are rows."""
        return list(self)[index]

    def _first(self) -> tuple[str, HostRequest]:
        found = self._find()
        if found is None:
            raise IndexError("the queue shows no request")
        return found

    def _find(self) -> tuple[str, HostRequest] | None:
        """The most urgent visible row, and its group."""
        while True:
            if self._head_id is not None:
                for request in self.rows(self._head_id):
                    if request.request_id not in self._held:
                        return self._head_id, request
            self._head_id = next(self._upcoming, None)
            if self._head_id is None:
                return None

    def _restart(self) -> None:
        """Look for the most urgent row from the front again."""
        self._head_id, self._upcoming = None, self._groups(self.order, self._admit)

    def _groups(self, order: RelQueryOrder[RelState], admit: Sequence[str] | None) -> Iterator[str]:
        """Names of groups, which may have no rows or be named twice, most urgent first."""
        if admit is not None:
            yield from admit
            return
        yield from (rel.rel_id for rel in order)
        yield from list(self._rows)

    def _group_of(self, request: HostRequest) -> str:
        return request.request_id if self._by_request else self._ledger.rel_of(request).rel_id

    def _deque_for(self, request: HostRequest) -> deque[HostRequest]:
        self._ledger.wait(request)
        self._num += 1
        self.come[request.request_id] = request
        self._restart()
        return self._rows.setdefault(self._group_of(request), deque())

    def _left(self, group: str, count: int) -> None:
        self._num -= count
        if not self._rows[group]:
            del self._rows[group]


class ForwardingQueue(RequestQueue):
    """A queue that is always empty: what vLLM puts here goes to `queue`."""

    def __init__(self, queue: RelQueue) -> None:
        self._queue = queue

    def add_request(self, request: HostRequest) -> None:
        self._queue.add_request(request)

    def prepend_request(self, request: HostRequest) -> None:
        self._queue.prepend_request(request)

    def prepend_requests(self, requests: Iterable[HostRequest]) -> None:
        self._queue.prepend_requests(requests)

    def peek_request(self) -> HostRequest:
        raise IndexError("the queue is empty")

    def pop_request(self) -> HostRequest:
        raise IndexError("the queue is empty")

    def remove_request(self, request: HostRequest) -> None:
        raise ValueError("the queue is empty")

    def remove_requests(self, requests: Iterable[HostRequest]) -> None:
        """Nothing: vLLM asks the queue behind too."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[HostRequest]:
        return iter(())


_EMPTY: deque[HostRequest] = deque()
