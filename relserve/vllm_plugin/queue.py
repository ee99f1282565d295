"""vLLM's waiting queue, grouped by relQuery: it shows a step only what the plan lets it see."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vllm.v1.core.sched.request_queue import RequestQueue

from relserve.policies.scheduling.state import RelState


class RelQueue(RequestQueue):
    """One deque per relQuery, handed out in the order of `order`.

    Attributes:
        order: relQuery ids, most urgent first; relQueries not in it come last.
        gate: the relQueries whose rows can be seen; None for all.
    """

    def __init__(self, state_of: Callable[[Any], RelState]) -> None:
        self._state_of = state_of
        self._rows: dict[str, deque[Any]] = {}
        self._num = 0
        self.order: list[str] = []
        self.visible: frozenset[str] | None = None

    def rows(self, rel_id: str) -> deque[Any]:
        """The waiting rows of a relQuery, first to go first."""
        return self._rows.get(rel_id, _EMPTY)

    def add_request(self, request: Any) -> None:
        self._rows_of(request, +1).append(request)

    def prepend_request(self, request: Any) -> None:
        self._rows_of(request, +1).appendleft(request)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        for request in requests:
            self.prepend_request(request)

    def peek_request(self) -> Any:
        return self._rows[self._head()][0]

    def pop_request(self) -> Any:
        rel_id = self._head()
        request = self._rows[rel_id].popleft()
        self._left(rel_id, request)
        return request

    def remove_request(self, request: Any) -> None:
        rel_id = self._state_of(request).rel_id
        self._rows[rel_id].remove(request)
        self._left(rel_id, request)

    def remove_requests(self, requests: Iterable[Any]) -> None:
        gone: dict[str, set[Any]] = {}
        for request in requests:
            gone.setdefault(self._state_of(request).rel_id, set()).add(request)
        for rel_id, leaving in gone.items():
            for request in [r for r in self.rows(rel_id) if r in leaving]:
                self._left(rel_id, request)
            kept = deque(r for r in self.rows(rel_id) if r not in leaving)
            if kept:
                self._rows[rel_id] = kept
            else:
                self._rows.pop(rel_id, None)

    def __bool__(self) -> bool:
        return self._find_head() is not None

    def __len__(self) -> int:
        return self._num

    def __iter__(self) -> Iterator[Any]:
        known = [rel_id for rel_id in self.order if rel_id in self._rows]
        seen = set(known)
        for rel_id in [*known, *(r for r in self._rows if r not in seen)]:
            yield from list(self._rows[rel_id])

    def _find_head(self) -> str | None:
        rows, visible = self._rows, self.visible
        for rel_id in self.order:
            if rel_id in rows and (visible is None or rel_id in visible):
                return rel_id
        return next((r for r in rows if visible is None or r in visible), None)

    def _head(self) -> str:
        rel_id = self._find_head()
        if rel_id is None:
            raise IndexError("the queue shows no request")
        return rel_id

    def _rows_of(self, request: Any, count: int) -> deque[Any]:
        state = self._state_of(request)
        state.num_waiting += count
        # Kept, because a preempted row's token may still come in while it waits.
        request.relserve_waiting_tokens = request.num_tokens
        state.waiting_tokens += request.num_tokens
        state.changed = True
        self._num += count
        return self._rows.setdefault(state.rel_id, deque())

    def _left(self, rel_id: str, request: Any) -> None:
        state = self._state_of(request)
        state.num_waiting -= 1
        state.waiting_tokens -= request.relserve_waiting_tokens
        state.changed = True
        self._num -= 1
        if rel_id in self._rows and not self._rows[rel_id]:
            del self._rows[rel_id]


class ForwardingQueue(RequestQueue):
    """A queue that is always empty: what vLLM puts here goes to `queue`."""

    def __init__(self, queue: RelQueue) -> None:
        self._queue = queue

    def add_request(self, request: Any) -> None:
        self._queue.add_request(request)

    def prepend_request(self, request: Any) -> None:
        self._queue.prepend_request(request)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        self._queue.prepend_requests(requests)

    def peek_request(self) -> Any:
        raise IndexError("the queue is empty")

    def pop_request(self) -> Any:
        raise IndexError("the queue is empty")

    def remove_request(self, request: Any) -> None:
        raise ValueError("the queue is empty")

    def remove_requests(self, requests: Iterable[Any]) -> None:
        """Nothing: vLLM asks the queue behind too."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())


_EMPTY: deque[Any] = deque()
