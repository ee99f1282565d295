"""What is learnt of measured steps is learnt on a thread of its own, so that no step waits for a fit.

So LENS does it (NexusSched, section 4: asynchronously). A fit takes 12 to 24 ms now and then, as long as some
steps. The scheduler's thread only hands over what it measured; models are replaced as a whole when they are
fitted, and a decision goes by the one that is there.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from relserve.policies.model.work import Work

logger = logging.getLogger(__name__)

MOST = (
    4096  # steps that wait to be learnt from; where learning is slower than steps are, further ones are not
)
CLOSE_S = 0.5  # how long the engine's end may wait for a fit

Learn = Callable[[Work, float], None]
_Act = Callable[[], None]


class StepLearner:
    """Learns from the steps of one scheduler, in their order, one after the other."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Act | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._end: Callable[[], object] | None = None

    def put(self, learn: Learn, work: Work, seconds: float) -> None:
        """Have this learnt: `learn` is called with the rest, soon, by the thread; takes a microsecond."""
        if self._end is None:
            self._start()
        if self._thread is None:  # it has ended, or the system has no thread to give: the engine serves on
            return
        if self._queue.qsize() < MOST:
            self._queue.put(partial(learn, work, seconds))

    def flush(self) -> None:
        """Wait until all is learnt that was handed over before."""
        if self._thread is not None:
            is_learnt = threading.Event()
            self._queue.put(is_learnt.set)
            is_learnt.wait()

    def close(self) -> None:
        """Learn no more; what was handed over is learnt first, if that does not take long."""
        thread, self._thread = self._thread, None
        self._end = self._end or _nothing
        self._end()
        if thread is not None:
            thread.join(CLOSE_S)

    def _start(self) -> None:
        """Begin with the first step: an engine may be forked before it."""
        # Also for a scheduler that was never shut down, whose thread must not keep it.
        self._end = weakref.finalize(self, self._queue.put, None)
        thread = threading.Thread(target=_learn, args=(self._queue,), name="relserve-learner", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            logger.warning("no thread can be started; nothing is learnt of the times of steps")
        else:
            self._thread = thread


def _nothing() -> None:
    """There is nothing to end."""


def _learn(queue: SimpleQueue[_Act | None]) -> None:
    has_failed = False
    while (act := queue.get()) is not None:
        try:
            act()
        except Exception:  # of any kind: what is known stays as it is, and the engine serves on
            if not has_failed:
                logger.exception("a step's time could not be learnt from")
            has_failed = True
        del act  # which may hold the scheduler's parts until the next step
