"""The gate of one engine: who wants to ask it enters here, and waits until the controller lets it in.

    async with gate.enter(user="ann", prompt_tokens=300, max_tokens=100, slo="interactive") as permit:
        ...
        permit.progress(num_tokens_so_far)

A gate without a controller lets everybody in at once.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from math import inf

from relserve.call.standing import Standing
from relserve.errors import AdmissionError
from relserve.gate.admission_queue import AdmissionQueue
from relserve.gate.request_group import Permit, RequestGroup, size_of
from relserve.machine.gate_status import GateStatus
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.request import SloClasses, checked_limit

LOOK_S = 0.05  # how often time alone may let somebody in
TELL_S = 0.25  # how often those who wait are told where they stand
PUBLISH_S = 1.0
HEADROOM = 4  # for so many that run, one may wait in the engine, so that no step lacks one
NO_LIMIT, OWN_LIMIT = "", "deadline"  # classes of requests without a limit, and with one of their own

Slo = str | float | None  # a class of limits by name, seconds until its end, or no limit


class Gate:
    """In front of one engine; safe for several threads and event loops.

    Args:
        controller: decides; None: everybody is let in.
        classes: the limits that a request may name.
        clock: seconds that only grow.
        publish: told once a second who waits and runs, and when nobody does any more; None: nobody looks.

    Attributes:
        meters: called before speeds are measured, to bring permits up to date.
    """

    def __init__(
        self,
        controller: AdmissionController | None = None,
        classes: SloClasses | None = None,
        clock: Callable[[], float] = time.monotonic,
        publish: Callable[[GateStatus], None] | None = None,
    ) -> None:
        self.classes = SloClasses({}) if classes is None else classes
        self.meters: set[Callable[[], None]] = set()
        self._queue = None if controller is None else AdmissionQueue(controller)
        self._clock, self._publish = clock, publish
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        """Whether everybody is let in."""
        return self._queue is None

    def fits(self, num_requests: int) -> None:
        """So many requests run in the engine at once; a few more may wait in it for the next step."""
        if self._queue is not None:
            with self._lock:
                self._queue.controller.most = num_requests + max(num_requests // HEADROOM, 1)

    @asynccontextmanager
    async def enter(
        self,
        *,
        user: str = "",
        prompt_tokens: int,
        max_tokens: int,
        slo: Slo = None,
        kind: str | None = None,
        waits: bool = True,
        told: Callable[[Standing], None] | None = None,
        age_s: float = 0.0,
    ) -> AsyncIterator[Permit]:
        """Wait for a place, and hold it while inside. A task that is cancelled meanwhile gives it up.

        Args:
            user: whose share it counts against.
            prompt_tokens: of its prompt, about.
            max_tokens: that its answer may have.
            slo: its limit, from now to its end.
            kind: of requests whose answers have lengths alike; None: those of its user and class. What they
                take in all is told apart by their prompts' lengths.
            waits: whether it waits as long as its limit allows. Else it is refused at once where it has to
                wait and its limit will probably be missed, or it has none.
            told: told now and then where it stands, from any thread; it is to be quick.
            age_s: how long ago it came to the server, from when its limit counts.

        Raises:
            AdmissionError: its limit passed before there was a place, or would: the message is one line, and
                `estimate_s` says how long it would take.
            OptionError: the limit is none, or there is no such class.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Permit] = loop.create_future()

        def resolve(found: Permit | AdmissionError) -> None:
            if future.done():
                return
            if isinstance(found, Permit):
                future.set_result(found)
            else:
                future.set_exception(found)

        def tell(found: Permit | AdmissionError) -> None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(resolve, found)

        if self._queue is None:
            self._limit_s(slo, max_tokens)
            yield Permit("", 0.0)
            return
        request_group = self.request_group(
            user, prompt_tokens, max_tokens, slo, kind, tell, tell, told, age_s=age_s
        )
        self.come(request_group, waits)
        try:
            permit = await future
            yield permit
        except BaseException:
            self.leave(request_group)
            raise
        self.done(request_group, permit)

    def request_group(
        self,
        user: str,
        prompt_tokens: float,
        max_tokens: int,
        slo: Slo,
        kind: str | None,
        started: Callable[[Permit], None],
        refused: Callable[[AdmissionError], None],
        told: Callable[[Standing], None] | None = None,
        rows: int = 1,
        age_s: float = 0.0,
    ) -> RequestGroup:
        """Those who want to enter together, who are yet to `come`; see `RequestGroup` and `enter`."""
        assert self._queue is not None
        slo_class = slo if isinstance(slo, str) else NO_LIMIT if slo in (None, inf) else OWN_LIMIT
        size = size_of(prompt_tokens)
        group = f"{kind or slo_class}/{size}"
        kind = f"{user}/{slo_class}" if kind is None else kind
        tokens = self._queue.expected(kind, max_tokens)
        came_s, limit_s = self._clock() - age_s, self._limit_s(slo, tokens)
        tokens, ends_s = tokens + self._queue.of_prompt(size), came_s + limit_s
        return RequestGroup(
            user, slo_class, kind, came_s, ends_s, tokens, rows, started, refused, told, size=size,
            group=group,
        )  # fmt: skip

    def come(self, request_group: RequestGroup, waits: bool = True) -> None:
        """A group comes; those of it who start at once have been told when this returns."""
        queue = self._queue
        assert queue is not None
        with self._lock:
            now_s, request_group.waits = self._clock(), waits
            queue.come(request_group, now_s)
            if not waits and request_group.num_waiting:
                queue.refuse_late(request_group, now_s)
            if self._watch is None:
                self._watch = threading.Thread(target=self._look, name="relserve-gate", daemon=True)
                self._watch.start()

    def done(self, request_group: RequestGroup, permit: Permit) -> None:
        """A row has ended."""
        assert self._queue is not None
        with self._lock:
            self._queue.done(request_group, permit, self._clock())

    def gone(self, request_group: RequestGroup, permit: Permit) -> None:
        """A row was given up while it ran."""
        assert self._queue is not None
        with self._lock:
            self._queue.gone(request_group, permit, self._clock())

    def leave(self, request_group: RequestGroup) -> None:
        """All of a group is given up; nothing where all of it has ended."""
        assert self._queue is not None
        with self._lock:
            self._queue.leave(request_group, self._clock())

    def _limit_s(self, slo: Slo, tokens: float) -> float:
        if slo is None:
            return inf
        return self.classes.limit_s(slo, tokens) if isinstance(slo, str) else checked_limit(slo)

    def _look(self) -> None:
        """Look at the clock, until nobody is there any more."""
        queue = self._queue
        assert queue is not None
        told_s = published_s = self._clock()
        while True:
            time.sleep(min(queue.every_s or LOOK_S, LOOK_S))
            for meter in list(self.meters):
                meter()
            with self._lock:
                now_s = self._clock()
                queue.look(now_s)
                if is_idle := queue.is_idle:
                    self._watch = None
                elif now_s - told_s >= TELL_S:
                    told_s = now_s
                    queue.tell()
                status = None
                if self._publish is not None and (is_idle or now_s - published_s >= PUBLISH_S):
                    published_s, status = now_s, queue.status()
            if self._publish is not None and status is not None:
                self._publish(status)
            if is_idle:
                return
