"""Real engines that serve the same traces in turns, each in a process of its own.

The machine's speed moves (here by tens of percent within minutes), which near load 1 would decide a result.
So a short trace on the stock engine, before and after every run, tells the speed of the moment: arrivals are
stretched by what it takes, which keeps the load what it says, and all times are given in seconds of the
median speed. A run during which the speed moved by more than STEADY is repeated, and one whose engine had no
processor for more than that share of its steps' time, because other programs ran.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.relquery_workload import Encode, declared, relqueries
from benchmarks.slo.step_times import LinearStepTimes
from lab.simulator.workload import RelSpec, retimed
from relserve.engines.local.cpu import ALLOCATOR
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import SchedulerSettings

OURS, STOCK, STATIC, PAPER = "default", "vllm", "vllm priority", "dpu+aba checked"
LOCAL = "local engine"  # OURS as relserve runs it on a CPU: with its own worker, whose steps are cheaper
CLAIRVOYANTS = (DEFAULT, PAPER, PAPER.removesuffix(" checked"))  # the best of them, told all lengths
OWN_CAPS = ", own caps"  # ends the name of a variant to which each relQuery declares its template's cap
MAX_NUM_SEQS, MAX_TOKENS, BLOCK_SIZE = 256, 4096, 32
MAX_MODEL_LEN = 4096  # holds the longest prompt with the loosest cap
KV_TOKENS, KV_TOKENS_PRETRAINED = 200_000, 65_536  # both hold 256 rows of this workload
STEADY, TRIES = 0.1, 2  # relative change of the probe beyond which a run is repeated; runs at most

Run = dict[str, Any]  # what a worker tells of a trace


class EngineSetup(NamedTuple):
    """What engines of one comparison have in common.

    Attributes:
        plans_ahead: vLLM's async scheduling.
        own_threads: instead of what relserve would choose.
        own_model, own_kv_tokens: another model's folder than the embedded one's, and another size of its KV
            memory.
        own_name: of that model, for its result files.
        kv_dtype: of the KV cache, as vLLM names it.
        max_num_seqs, max_tokens: of a step.
        max_model_len: of a request.
        clock: a name of `clocks.CLOCKS`.
    """

    plans_ahead: bool = False
    own_threads: int | None = None
    own_model: str = ""
    own_kv_tokens: int = 0
    kv_dtype: str = "auto"
    max_num_seqs: int = MAX_NUM_SEQS
    max_tokens: int = MAX_TOKENS
    max_model_len: int = MAX_MODEL_LEN
    clock: str = "wall"
    own_name: str = ""

    @property
    def model(self) -> str:
        """The folder of the model."""
        return self.own_model or str(MODEL_DIR)

    @property
    def threads(self) -> int:
        """OpenMP threads of the engine's process."""
        return 1 if self.own_threads is None else self.own_threads

    @property
    def kv_tokens(self) -> int:
        """KV memory."""
        return self.own_kv_tokens or KV_TOKENS

    @property
    def suffix(self) -> str:
        """What tells its result files from those of the embedded model."""
        return (f"_{self.own_name}" if self.own_name else "") + "_async" * self.plans_ahead


EMBEDDED = EngineSetup()


def scheduler_of(variant: str) -> tuple[str, dict[str, Any]]:
    """The worker's name of a variant, and the settings of relserve's scheduler; only ours have a guard."""
    name = variant.removesuffix(OWN_CAPS)
    return (DEFAULT, {}) if name in (OURS, LOCAL) else (name, {"patience": 0.0})


def policy_of(variant: str) -> SchedulingPolicy:
    """The variant's policy for the simulator."""
    name = variant.removesuffix(OWN_CAPS)
    if name in (OURS, LOCAL):
        return make(DEFAULT, patience=SchedulerSettings().patience)
    return make({STOCK: "fcfs", STATIC: "static"}.get(name, name))


def as_told(variant: str, trace: list[RelSpec], cap: int | None) -> list[RelSpec]:
    """The trace with the caps that a variant is told."""
    return trace if variant.endswith(OWN_CAPS) else declared(trace, cap)


class EngineWorker:
    """An engine in a process of its own; `settings` are of relserve's scheduler.

    Raises:
        RuntimeError: it ended, or does not plan ahead although it should.
    """

    def __init__(
        self, variant: str, settings: Mapping[str, Any] | None = None, engine: EngineSetup = EMBEDDED
    ) -> None:
        name, own_settings = scheduler_of(variant)
        command = [
            sys.executable, "-m", "benchmarks.relquery_worker", "--variant", name,
            "--model", engine.model, *(["--async-scheduling"] if engine.plans_ahead else []),
            "--max-num-seqs", str(engine.max_num_seqs), "--max-tokens", str(engine.max_tokens),
            "--kv-tokens", str(engine.kv_tokens), "--kv-dtype", engine.kv_dtype,
            "--max-model-len", str(engine.max_model_len), "--clock", engine.clock,
            *(["--local-worker"] if variant == LOCAL else []),
            "--settings", json.dumps(own_settings if settings is None else settings),
        ]  # fmt: skip
        self.variant = variant
        self.cost: CostModel | LinearStepTimes | None = None  # of steps, by the charged clock
        environment = os.environ | ALLOCATOR | {"OMP_NUM_THREADS": str(engine.threads)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        if self._read()["async_scheduling"] != engine.plans_ahead:
            raise RuntimeError(f"the engine of {variant!r} does not schedule as it was told to")

    def serve(
        self,
        trace: list[RelSpec],
        forget: bool = False,
        tokens: bool = False,
        slo_s: Sequence[float] = (),
        budget: str = "",
        until_s: float | None = None,
    ) -> Run:
        """Replay a trace; with `forget`, nothing is known of output lengths when it begins.

        With `tokens`, the run has "token_s", the seconds to each token by request. `slo_s` are the limits,
        for the first token and between two, that each request brings with it. `budget` names the policy that
        bounds the steps, if not the engine's own. After `until_s` no request comes any more that waits for
        another's end.
        """
        with tempfile.NamedTemporaryFile(suffix=".trace") as file:
            pickle.dump(trace, file)
            file.flush()
            told = {"trace": file.name, "forget": forget, "tokens": tokens, "slo_s": list(slo_s)}
            told |= {"budget": budget, "until_s": until_s}
            told |= {"cost": None if self.cost is None else asdict(self.cost)}
            self._tell(told)
            return self._read()

    def quit(self) -> None:
        """End the process."""
        self._tell({"quit": 1})
        self._process.wait(30)

    def _tell(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the engine of {self.variant!r} ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


class SpeedProbe:
    """The machine's speed of the moment: what the stock engine takes for a short trace, in seconds."""

    def __init__(self, worker: EngineWorker, encode: Encode, max_rows: int) -> None:
        self._worker, self._trace = worker, at_once(relqueries(16, max_rows, 1.0, 998, encode))
        self.seconds: list[float] = []

    def take(self) -> float:
        """Measure it."""
        self.seconds.append(self._worker.serve(self._trace)["makespan_s"])
        return self.seconds[-1]


def at_once(trace: Sequence[RelSpec]) -> list[RelSpec]:
    """The trace with all relQueries at time 0."""
    return retimed(trace, [0.0] * len(trace))


def capacity_in_probes(worker: EngineWorker, trace: list[RelSpec], probe: SpeedProbe) -> float:
    """relQueries that an engine serves in the time of a probe, when all of a trace come at once."""
    before = probe.take()
    makespan_s = worker.serve(at_once(trace))["makespan_s"]
    return len(trace) * (before + probe.take()) / 2 / makespan_s


def run_steadily(worker: EngineWorker, trace: list[RelSpec], probe: SpeedProbe, forget: bool = False) -> Run:
    """Serve a trace whose arrivals are in probes' lengths; of up to TRIES, the run of the steadiest speed."""
    tries = []
    for _ in range(TRIES):
        before = probe.seconds[-1]
        run = worker.serve(retimed(trace, [r.arrival_s * before for r in trace]), forget)
        after = probe.take()
        moved = max(abs(after / before - 1), share_without_processor(run))
        tries.append((moved, run | {"probe_s": (before + after) / 2}))
        if moved < STEADY:
            break
    return min(tries, key=lambda each: each[0])[1]


def share_without_processor(run: Run) -> float:
    """The share of its steps' time in which an engine could not compute."""
    return max(0.0, 1 - run["cpu_s"] / sum(seconds for _, _, seconds in run["steps"]))


def latencies(run: Run) -> NDArray[np.float64]:
    """The latency of each relQuery, in seconds."""
    return np.array([rel[1] for rel in run["rels"].values()])


def at_speed(run: Run, probe_s: float) -> Run:
    """A run's times in seconds of a machine on which the probe takes `probe_s`."""
    factor = probe_s / run["probe_s"]
    rels = {k: [rows, *(factor * x for x in times)] for k, (rows, *times) in run["rels"].items()}
    steps = [[tokens, decodes, factor * x] for tokens, decodes, x in run["steps"]]
    seconds = {name: factor * run[name] for name in ("makespan_s", "policy_s", "arrival_s_a_row")}
    return run | seconds | {"rels": rels, "steps": steps}
