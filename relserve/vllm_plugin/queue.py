"""vLLM's waiting queue, grouped by relQuery: it shows a step only what the decision lets it see."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import RelState, StepDecision
from relserve.vllm_plugin.host import HostRequest, RequestQueue
from relserve.vllm_plugin.ledger import RowLedger


class RelQueue(RequestQueue):
    """One deque per relQuery, handed out in the order of the latest decision; others come last.

    Args:
        ledger: is told of every row that is put here.
    """

    def __init__(self, ledger: RowLedger) -> None:
        self._ledger = ledger
        self._rows: dict[str, deque[HostRequest]] = {}
        self._num = 0
        self.order: RelQueryOrder[RelState] = RelQueryOrder()
        self._visible: frozenset[str] | None = None
        self._held: frozenset[str] = frozenset()
        self._upcoming: Iterator[str] = iter(())
        self._head_id: str | None = None

    def rows(self, rel_id: str) -> deque[HostRequest]:
        """The waiting rows of a relQuery, first to go first."""
        return self._rows.get(rel_id, _EMPTY)

    def next_row(self) -> HostRequest | None:
        """The row that would go first in the order of the latest decision; None where none waits."""
        for rel in self.order:
            if rows := self._rows.get(rel.rel_id):
                return rows[0]
        return next((rows[0] for rows in self._rows.values()), None)

    def show(self, decision: StepDecision) -> None:
        """Show the rows that may be admitted now, in the order of the decision."""
        self.order = decision.order
        self._visible, self._held = decision.prefill, decision.held_requests
        self._restart()

    def show_all(self) -> None:
        """Show all rows."""
        self._visible, self._held = None, frozenset()
        self._restart()

    def shown(self) -> Iterator[HostRequest]:
        """The rows that a step may admit now, in order."""
        seen: set[str] = set()
        for rel_id in self._visible_rels():
            if rel_id not in seen:
                seen.add(rel_id)
                yield from (row for row in self.rows(rel_id) if row.request_id not in self._held)

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
        rel_id, request = self._first()
        rows = self._rows[rel_id]
        if rows[0] is request:
            rows.popleft()
        else:
            rows.remove(request)
        self._left(rel_id, 1)
        return request

    def remove_request(self, request: HostRequest) -> None:
        self.remove_requests([request])

    def remove_requests(self, requests: Iterable[HostRequest]) -> None:
        gone: dict[str, set[HostRequest]] = {}
        for request in requests:
            gone.setdefault(self._ledger.rel_of(request).rel_id, set()).add(request)
        for rel_id, leaving in gone.items():
            before = self.rows(rel_id)
            if before:
                kept = self._rows[rel_id] = deque(r for r in before if r not in leaving)
                self._left(rel_id, len(before) - len(kept))

    def __bool__(self) -> bool:
        if self._visible is None and not self._held:
            return self._num > 0
        return self._find() is not None

    def __len__(self) -> int:
        return self._num

    def __iter__(self) -> Iterator[HostRequest]:
        in_order = [rel.rel_id for rel in self.order if rel.rel_id in self._rows]
        for rel_id in dict.fromkeys([*in_order, *self._rows]):
            yield from list(self._rows[rel_id])

    def __getitem__(self, index: int) -> HostRequest:
        """The row in this place of the order, as vLLM's own queue has it; takes as long as there are rows."""
        return list(self)[index]

    def _first(self) -> tuple[str, HostRequest]:
        found = self._find()
        if found is None:
            raise IndexError("the queue shows no request")
        return found

    def _find(self) -> tuple[str, HostRequest] | None:
        """The most urgent visible row, and its relQuery."""
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
        self._head_id, self._upcoming = None, self._visible_rels()

    def _visible_rels(self) -> Iterator[str]:
        if self._visible is not None:
            active = self._ledger.active
            shown = [active[rel_id] for rel_id in self._visible if rel_id in self._rows]
            yield from (rel.rel_id for rel in self.order.sort(shown))
            return
        yield from (rel.rel_id for rel in self.order)
        yield from list(self._rows)

    def _deque_for(self, request: HostRequest) -> deque[HostRequest]:
        self._ledger.wait(request)
        self._num += 1
        self._restart()
        return self._rows.setdefault(self._ledger.rel_of(request).rel_id, deque())

    def _left(self, rel_id: str, count: int) -> None:
        self._num -= count
        if not self._rows[rel_id]:
            del self._rows[rel_id]


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
