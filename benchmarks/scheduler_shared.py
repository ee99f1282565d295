"""What our scheduler costs a step beside other traffic: CPU time over that of vLLM's own, a made-up worker.

Asynchronous scheduling, 256 rows that decode: of one relQuery, of eight, each of a relQuery of its own, of
nobody's (single requests without a tag), and of eight with 500 more that wait. Then 8 rows of one relQuery
and 32 of eight, where a small model's step is soon over: by how many milliseconds ours takes longer. Both
schedulers do the same steps in turns, 20 at a time; counted is what schedule() and update_from_output() take.

Last the steps in which relQueries come, as one does in every 10th step, or in every one where all have one
row, whenever another ends: there add_request() counts, too.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from lab.made_up_worker import MadeUpArrival, MadeUpWorker, WorkerRun, config_of, deliver, scheduler_of
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR

ROOMS = ("relserve/vllm_plugin", "relserve/policies/scheduling")
HEADLINE = {
    "worst_over_stock": Lower(0.1), "small_model_ms": Lower(0.3, by=0.05, timed=True),
    "arrival_over_stock": Lower(0.1), "small_model_arrival_ms": Lower(0.3, by=0.05, timed=True),
    "over_stock": Untold("of each regime"), "arrivals_over_stock": Untold("of each regime"),
    "stock_us_a_row": Untold("a machine's"), "ours_us_a_row": Untold("a machine's"),
}  # fmt: skip

MAX_ROWS, NUM_BLOCKS = 256, 9000
PROMPT, OUTPUT, A_TURN, A_GAP = 60, 400, 20, 10
STOCK = "vllm"


class Regime(NamedTuple):
    """Rows that run, the relQueries that they are of (0: of none), and rows that wait."""

    name: str
    num_rels: int
    num_rows: int = MAX_ROWS
    num_waiting: int = 0

    def tag_of(self, number: int) -> dict[str, Any]:
        """The tag of a row."""
        if not self.num_rels:
            return {}
        rel_rows = (self.num_rows + self.num_waiting) // self.num_rels
        return {
            "rel_id": f"q{number % self.num_rels}", "rel_rows": rel_rows, "rel_ol": OUTPUT, "rel_kind": "k"
        }  # fmt: skip


LARGE = (
    Regime("one relQuery", 1), Regime("8 relQueries", 8), Regime("256 of one row", MAX_ROWS),
    Regime("256 anonymous", 0), Regime("8, and 500 rows wait", 8, num_waiting=500),
)  # fmt: skip
SMALL = Regime("8 rows", 1, 8), Regime("32 rows of 8 relQueries", 8, 32)
ARRIVALS = (*SMALL, Regime("224 rows of 7 relQueries", 7, 224), Regime("224 of one row", 224, 224))


class TimedScheduler:
    """A scheduler with a made-up worker, of which is counted what its own calls take."""

    def __init__(self, variant: str) -> None:
        config = config_of(str(MODEL_DIR))
        config.scheduler_config.max_num_seqs = MAX_ROWS
        if hasattr(config.scheduler_config, "max_num_active_seqs"):
            config.scheduler_config.max_num_active_seqs = MAX_ROWS
        config.scheduler_config.max_num_batched_tokens = MAX_ROWS * PROMPT  # all begin at once
        self.scheduler = scheduler_of(str(MODEL_DIR), variant, True, NUM_BLOCKS)
        self._worker, self._ran = MadeUpWorker(), WorkerRun()
        self._in_flight: deque[tuple[Any, Any]] = deque()

    def add(self, arrivals: Iterable[MadeUpArrival]) -> float:
        """CPU seconds for requests that come."""
        requests = [arrival.request() for arrival in arrivals]
        began_s = time.thread_time()
        for request in requests:
            self.scheduler.add_request(request)
        return time.thread_time() - began_s

    def step(self) -> float:
        """CPU seconds of a step."""
        began_s = time.thread_time()
        output = self.scheduler.schedule()
        taken_s = time.thread_time() - began_s
        self._in_flight.appendleft((output, self._worker.execute(output)))
        if len(self._in_flight) > 1:
            done = self._in_flight.pop()
            began_s = time.thread_time()
            deliver(self.scheduler, *done, self._ran)
            taken_s += time.thread_time() - began_s
        return taken_s


class Decoding(TimedScheduler):
    """Rows that decode for as long as they are measured."""

    def __init__(self, variant: str, regime: Regime) -> None:
        super().__init__(variant)
        for number in range(regime.num_rows + regime.num_waiting):
            prompt = [number % 900 + 1] * PROMPT
            self.add([MadeUpArrival(0, f"r{number}", prompt, OUTPUT, regime.tag_of(number))])
        self.turn()

    def turn(self) -> list[float]:
        """Of some steps, the mean CPU microseconds a row that runs: ours may keep some relQueries waiting."""
        return [statistics.mean(1e6 * self.step() / len(self.scheduler.running) for _ in range(A_TURN))]


class Arriving(TimedScheduler):
    """relQueries that come one after the other, of which each ends soon after another has come."""

    def __init__(self, variant: str, regime: Regime) -> None:
        super().__init__(variant)
        self._num_rows, self._num_come = regime.num_rows // regime.num_rels, 0
        self._gap = A_GAP if self._num_rows > 1 else 1
        self._output = regime.num_rels * self._gap + self._gap // 2
        for number in range(regime.num_rels):
            self.add(self._relquery((number + 1) * self._gap - self._gap // 2))
        self.turn()

    def turn(self) -> list[float]:
        """Of those of some steps in which a relQuery comes, the CPU milliseconds."""
        taken_ms = []
        for number in range(A_TURN):
            comes = number % self._gap == 0
            added_s = self.add(self._relquery(self._output)) if comes else 0.0
            step_s = self.step()
            if comes:
                taken_ms.append(1e3 * (added_s + step_s))
        return taken_ms

    def _relquery(self, num_output: int) -> list[MadeUpArrival]:
        name, rows = f"c{self._num_come}", range(self._num_rows)
        self._num_come += 1
        tag = {"rel_id": name, "rel_rows": len(rows), "rel_ol": num_output, "rel_kind": "k"}
        prompts = [[(self._num_come + row) % 900 + 1] * PROMPT for row in rows]
        return [MadeUpArrival(0, f"{name}-{row}", prompts[row], num_output, tag) for row in rows]


def measured(kind: Callable[[str, Regime], Any], regime: Regime, num_turns: int) -> tuple[float, float]:
    """With vLLM's scheduler and with ours, the median of what their turns give."""
    sides = {variant: kind(variant, regime) for variant in (STOCK, DEFAULT)}
    taken: dict[str, list[float]] = {variant: [] for variant in sides}
    for _ in range(num_turns):
        for variant, side in sides.items():
            taken[variant] += side.turn()
    for side in sides.values():
        side.scheduler.shutdown()
    return statistics.median(taken[STOCK]), statistics.median(taken[DEFAULT])


def main() -> None:
    """Run, print and save."""
    args = arguments(__doc__ or "").parse_args()
    num_turns = 4 if args.quick else 16
    found = {regime: measured(Decoding, regime, num_turns) for regime in LARGE + SMALL}
    rows = [
        (regime.name, regime.num_rows, stock, ours, ours / stock, (ours - stock) * regime.num_rows / 1000)
        for regime, (stock, ours) in found.items()
    ]
    columns = ("regime", "rows", "vLLM's, µs a row", "ours, µs a row", "over vLLM's", "ms a step more")
    print(table(columns, rows))
    large, small = rows[: len(LARGE)], rows[len(LARGE) :]
    came = {regime: measured(Arriving, regime, 3 * num_turns) for regime in ARRIVALS}
    arrivals = [
        (regime.name, stock, ours, ours / stock, ours - stock) for regime, (stock, ours) in came.items()
    ]
    of_arrivals = ("relQueries come", "vLLM's, ms a step", "ours, ms a step", "over vLLM's", "ms a step more")
    print(table(of_arrivals, arrivals))
    headline = {
        "worst_over_stock": round(max(row[4] for row in large), 3),
        "small_model_ms": round(max(row[5] for row in small), 3),
        "arrival_over_stock": round(max(row[3] for row in arrivals[len(SMALL) :]), 3),
        "small_model_arrival_ms": round(max(row[4] for row in arrivals[: len(SMALL)]), 3),
        "over_stock": {row[0]: round(row[4], 3) for row in rows},
        "arrivals_over_stock": {row[0]: round(row[3], 3) for row in arrivals},
        "stock_us_a_row": {row[0]: round(row[2], 3) for row in rows},
        "ours_us_a_row": {row[0]: round(row[3], 3) for row in rows},
    }
    finish("scheduler_shared", headline, {"decoding": rows, "arrivals": arrivals}, args.quick)


if __name__ == "__main__":
    main()
