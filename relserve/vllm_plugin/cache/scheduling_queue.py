"""vLLM's waiting queue, of which a step sees only the requests that a plan names, in the plan's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from relserve.vllm_plugin.host import HostRequest, RequestQueue
from relserve.vllm_plugin.ledger import RelRecord, RowLedger


class PlannedQueue(RequestQueue):
    """The waiting requests by id, as they came; a plan says which of them are shown.

    Args:
        ledger: is told of every request that is put here.

    Attributes:
        come: those that came since somebody last cleared it, for the first time or again.
    """

    def __init__(self, ledger: RowLedger) -> None:
        self._ledger = ledger
        self._requests: dict[str, HostRequest] = {}
        self._shown: Sequence[str] | None = None
        self.come: dict[str, HostRequest] = {}

    @property
    def order(self) -> Iterable[RelRecord]:
        """All relQueries, for those who watch: as they came."""
        return self._ledger.active.values()

    def show(self, request_ids: Sequence[str]) -> None:
        """Show those of these that wait, in this order."""
        self._shown = [request_id for request_id in request_ids if request_id in self._requests]

    def show_all(self) -> None:
        """Show all, as they came."""
        self._shown = None

    def __contains__(self, request: HostRequest) -> bool:
        return request.request_id in self._requests

    def add_request(self, request: HostRequest) -> None:
        self._ledger.wait(request)
        self._requests[request.request_id] = self.come[request.request_id] = request

    def prepend_request(self, request: HostRequest) -> None:
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[HostRequest]) -> None:
        for request in requests:
            self.add_request(request)

    def peek_request(self) -> HostRequest:
        request = self._first()
        if request is None:
            raise IndexError("the queue shows no request")
        return request

    def pop_request(self) -> HostRequest:
        request = self.peek_request()
        self.remove_request(request)
        return request

    def remove_request(self, request: HostRequest) -> None:
        del self._requests[request.request_id]
        self.come.pop(request.request_id, None)

    def remove_requests(self, requests: Iterable[HostRequest]) -> None:
        for request in requests:
            if request in self:
                self.remove_request(request)

    def __bool__(self) -> bool:
        return self._first() is not None

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[HostRequest]:
        return iter(list(self._visible()))

    def _first(self) -> HostRequest | None:
        return next(self._visible(), None)

    def _visible(self) -> Iterator[HostRequest]:
        shown = self._requests if self._shown is None else self._shown
        return (self._requests[request_id] for request_id in shown if request_id in self._requests)
