"""A clock for machines whose speed is not their own: it counts seconds of a machine of constant speed.

A fixed computation, made a few times a second, says how fast the machine is at the moment; the clock runs so
much faster or slower. Arrivals and latencies told by it are those of a quiet machine, to first order, as long
as what disturbs the machine slows the probe as it slows the work. `benchmarks.steady_clock` shows how far:
not for processes that take the same cores.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import deque

import numpy as np


class Probe:
    """The fixed computation: sorts a small array for the core, sums a large one for the memory."""

    def __init__(self) -> None:
        self._small = np.random.default_rng(0).random(8_000, np.float32)
        self._large = np.full(1_000_000, 0.5, np.float32)

    def seconds(self) -> float:
        """How long it takes now, about half a millisecond."""
        began = time.perf_counter()
        for _ in range(4):
            np.sort(self._small)
        self._large.sum()
        return time.perf_counter() - began


def reference() -> float:
    """The probe's seconds here and now, the median of some."""
    probe = Probe()
    return statistics.median(probe.seconds() for _ in range(100))


class SteadyClock:
    """Seconds since it was made or last reset, at the speed at which the probe takes `reference_s`."""

    EVERY_S, KEPT = 0.2, 7  # real seconds between probes; probes whose median is the present

    def __init__(self, reference_s: float) -> None:
        self._probe, self._reference_s = Probe(), reference_s
        self._latest: deque[float] = deque(maxlen=self.KEPT)
        self.reset()

    def reset(self) -> None:
        """Begin at 0."""
        self._latest.extend(self._probe.seconds() for _ in range(self.KEPT))
        self._real_s = self._began_s = time.perf_counter()
        self._next_s, self._steady_s = self._real_s + self.EVERY_S, 0.0

    @property
    def speed(self) -> float:
        """The machine's speed at the moment, 1 where the probe takes `reference_s`."""
        return self._reference_s / statistics.median(self._latest)

    @property
    def mean_speed(self) -> float:
        """Steady seconds a real second since the last reset."""
        return self.now() / max(self._real_s - self._began_s, 1e-9)

    def now(self) -> float:
        """Steady seconds; to be called often, as it probes by the way."""
        real_s = time.perf_counter()
        self._steady_s += (real_s - self._real_s) * self.speed
        self._real_s = real_s
        if real_s >= self._next_s:
            self._latest.append(self._probe.seconds())
            self._next_s = real_s + self.EVERY_S
        return self._steady_s


NEIGHBOUR = "import numpy as np\na = np.ones(8_000_000)\nwhile True: a.sum(); a *= 1.0"


def main() -> None:
    """Serve one trace on a quiet machine and beside neighbours; print its length by either clock."""
    from benchmarks.common import arguments, finish, table
    from benchmarks.relquery_latency import Worker
    from benchmarks.relquery_workload import encoder, relqueries
    from relserve.simulator.workload import retimed

    args = arguments(main.__doc__ or "").parse_args()
    count = 8 if args.quick else 40
    trace = retimed(relqueries(count, 100, 1.0, 1, encoder()), [0.0] * count)
    worker = Worker("vllm")
    worker.serve(trace)
    rows = []
    for neighbours in (0, 1, 2, 0, 1, 2):
        beside = [subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) for _ in range(neighbours)]
        try:
            run = worker.serve(trace)
        finally:
            for process in beside:
                process.kill()
                process.wait()
        rows.append([neighbours, run["makespan_s"] / run["speed"], run["makespan_s"]])
    worker.quit()
    print(table(["neighbours", "real_s", "steady_s"], rows))
    spread = [max(column) / min(column) for column in list(zip(*rows, strict=True))[1:]]
    headline = {"real_max_over_min": round(spread[0], 3), "steady_max_over_min": round(spread[1], 3)}
    finish("steady_clock", headline, {"runs": rows}, args.quick)


if __name__ == "__main__":
    main()
