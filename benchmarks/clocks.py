"""Clocks by which a trace is replayed: the wall's, and two that run only while this process computes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from relserve.policies.model.step_time import StepTime
from relserve.policies.model.work import MeasuredStep, Work

LONGEST_SLEEP_S = 0.005


class Clock(Protocol):
    """Seconds since some moment, and a way to spend them idly."""

    def now(self) -> float: ...

    def wait(self, until_s: float) -> None:
        """Let the clock come nearer to a time, as nothing is to be done before."""
        ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        return time.perf_counter()

    def wait(self, until_s: float) -> None:
        time.sleep(min(LONGEST_SLEEP_S, max(0.0, until_s - self.now())))


class BusyClock:
    """The processor time of the thread that made it, and the time that it waited, which is skipped.

    On a quiet machine an engine of one thread takes as long by this clock as by the wall's. What other
    programs take of the processor is not counted, and idle time costs no time.

    It is not the process's time: for that the kernel adds up some 40 threads, each time that somebody looks.
    """

    def __init__(self) -> None:
        self._skipped_s = 0.0
        self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def now(self) -> float:
        return time.clock_gettime(self._clock) + self._skipped_s

    def wait(self, until_s: float) -> None:
        self._skipped_s += max(0.0, until_s - self.now())


class ChargedClock(BusyClock):
    """Like `BusyClock`, but a step of the model counts as what a step of its size takes as a rule.

    Where the processor's speed moves by half from one second to the next, as with other machines on the same
    host, two runs of one trace are not alike by any clock that measures. What schedulers decide, and the
    processor time that they and all else around the model take, is measured as before.

    Attributes:
        cost: of steps; None: they count as the processor time that they take.
        samples: the steps since `begin`, with the processor time that they took.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cost: StepTime | None = None
        self.samples: list[MeasuredStep] = []

    def charge(self, executor: Any, work_of: Callable[[Any], Work]) -> None:
        """Count the steps of vLLM's executor so.

        Args:
            work_of: what a scheduler's output computes.
        """
        execute, sample = executor.execute_model, executor.sample_tokens
        latest: list[Work] = []

        def execute_model(output: Any, *args: Any, **kwargs: Any) -> Any:
            latest[:] = [work_of(output)] if output.total_num_scheduled_tokens else []
            seconds = self.cost.seconds(latest[0]) if self.cost and latest else None
            return self._counted(lambda: execute(output, *args, **kwargs), seconds, latest)

        def sample_tokens(*args: Any, **kwargs: Any) -> Any:
            seconds = None if self.cost is None else 0.0
            return self._counted(lambda: sample(*args, **kwargs), seconds, ())

        executor.execute_model, executor.sample_tokens = execute_model, sample_tokens

    def _counted(self, act: Callable[[], Any], seconds: float | None, step: Sequence[Work]) -> Any:
        began_s = time.thread_time()
        done = act()
        took_s = time.thread_time() - began_s
        if step:
            self.samples.append(MeasuredStep(step[0], took_s))
        elif self.samples:  # tokens are sampled after the step
            self.samples[-1] = self.samples[-1]._replace(seconds=self.samples[-1].seconds + took_s)
        if seconds is not None:
            self._skipped_s += seconds - took_s
        return done


CLOCKS = {"wall": WallClock, "busy": BusyClock, "charged": ChargedClock}


def lead(package: str, clock: Clock) -> None:
    """Have the modules of a package that were imported so far read this clock.

    A scheduler's limits and deadlines then run by the time by which it is judged.
    """
    if isinstance(clock, WallClock):
        return
    led = dict.fromkeys(("monotonic", "perf_counter", "time"), clock.now)
    seconds = SimpleNamespace(**{**vars(time), **led})
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and getattr(module, "time", None) is time:
            module.time = seconds  # type: ignore[attr-defined]
