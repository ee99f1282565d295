"""Threads chosen by model size: a 250 M model prefills as with vLLM's best thread setting, tiny as with one.

Every side is an engine in processes of its own; all engines of a model live at once, idle but for one, and
take turns on fresh prompts, forwards and backwards, so that other load hits all alike. relserve's own start
against vllm.LLM with one thread, with one a core, unbound and with vLLM's own ways to bind them. Then both
numbers of threads at sizes between, for the size from which more than one pays.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.claims import Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.made_up_llama import folder_of
from benchmarks.plots import bars
from benchmarks.provenance import ROOT
from benchmarks.side import SideProcess
from relserve.engines.local.cpu_plan import num_threads
from relserve.machine.capacity import num_cores
from relserve.tiny import MODEL_DIR

ROOMS = ("relserve/engines/local", "relserve/vllm_plugin")
HEADLINE = {
    "cores": Untold("this machine's"), "threads_of_250m": Untold("this machine's"),
    "best_of_vllm": Untold("no figure"), "prefill_of_best": Higher(0.25, by_cpu=True),
    "tiny_of_one_thread": Untold("in full runs"), "crossover_millions": Untold("in full runs"),
}  # fmt: skip

TINY, LARGE = 5, 250  # millions of parameters
BETWEEN = (10, 25, 60, 120)
TOKENS = {5: 60_000, 10: 40_000, 25: 20_000, 60: 10_000, 120: 6_000, 250: 4_000}  # of one turn, about
TOKENS_OF_PROMPT = 1_000  # about
NUM_TURNS = 9


class Prefiller(SideProcess):
    """An engine that prefills on demand.

    Args:
        own: "relserve", "nobind" for vLLM with the threads of `environment`, "bind" for vLLM's own binding.
    """

    def __init__(self, model: str, own: str, environment: Mapping[str, str]) -> None:
        ours = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
        program = "benchmarks.threads_child"
        super().__init__([sys.executable, "-m", program], ROOT, ours | dict(environment), program)
        assert self.told(json.dumps({"model": model, "own": own})) == "ready"

    def rate(self, num_prompts: int) -> float:
        """Prompt tokens a second."""
        tokens, seconds = self.told(str(num_prompts))
        return float(tokens / seconds)


@dataclass
class ThreadRates:
    """Prompt tokens a second of each side of a model of one size, turn by turn."""

    millions: int
    rates: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, side: str, other: str) -> float:
        """How many times as fast as another side: the median of the ratios within one turn."""
        pairs = zip(self.rates[side], self.rates[other], strict=True)
        return statistics.median(one / two for one, two in pairs)


def unbound(threads: int) -> dict[str, str]:
    """Variables for so many threads that no core is assigned to."""
    return {"OMP_NUM_THREADS": str(threads), "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


def sides(cores: int, with_binding: bool) -> dict[str, tuple[str, dict[str, str]]]:
    """What runs, by its name in the table; see `Prefiller`."""
    found: dict[str, tuple[str, dict[str, str]]] = {
        "relserve": ("relserve", {}),
        "vLLM, 1 thread": ("nobind", unbound(1)),
    }
    if cores > 1:
        found[f"vLLM, {cores} threads"] = ("nobind", unbound(cores))
        if with_binding:
            cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:cores]))
            found["vLLM, its default"] = ("bind", {})
            found["vLLM, all cores bound"] = ("bind", {"VLLM_CPU_OMP_THREADS_BIND": cpus})
    return found


def measure(millions: int, todo: Mapping[str, tuple[str, dict[str, str]]], num_turns: int) -> ThreadRates:
    """All sides of a model, in turns."""
    model = str(MODEL_DIR) if millions == TINY else str(folder_of(millions))
    started: dict[str, Prefiller] = {}
    found = ThreadRates(millions, {name: [] for name in todo})
    try:
        for name, (own, environment) in todo.items():
            started[name] = Prefiller(model, own, environment)
        for turn in range(num_turns):
            for name in list(todo)[:: -1 if turn % 2 else 1]:
                found.rates[name].append(started[name].rate(TOKENS[millions] // TOKENS_OF_PROMPT))
    finally:
        for side in started.values():
            side.close()
    return found


def best_of_vllm(found: ThreadRates) -> str:
    """vLLM's setting with the highest median."""
    return max(
        (name for name in found.rates if name.startswith("vLLM")),
        key=lambda name: statistics.median(found.rates[name]),
    )


def rows_of(found: ThreadRates) -> list[list[Any]]:
    """The lines of the table."""
    return [
        [f"{found.millions} M", name, statistics.median(rates), min(rates), max(rates)]
        for name, rates in found.rates.items()
    ]


def crossover(measured: Sequence[ThreadRates], many: str) -> int | None:
    """Millions of parameters of the smallest model, of those measured, that more threads make faster."""
    sizes = [each.millions for each in measured if each.ratio(many, "vLLM, 1 thread") > 1]
    return min(sizes, default=None)


def fully(cores: int) -> list[ThreadRates]:
    """All sizes, the smallest first; vLLM's own ways to bind threads with the largest."""
    plain = sides(cores, with_binding=False)
    smaller = [measure(each, plain, NUM_TURNS) for each in (TINY, *BETWEEN)]
    return [*smaller, measure(LARGE, sides(cores, with_binding=True), NUM_TURNS)]


def quickly(cores: int) -> list[ThreadRates]:
    """The large model, by relserve and by vLLM with a thread a core."""
    few = dict(list(sides(cores, with_binding=False).items())[:: max(1, min(2, cores))])
    return [measure(LARGE, few, 3)]


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    cores = num_cores()
    measured = quickly(cores) if args.quick else fully(cores)
    large, tiny = measured[-1], measured[0]
    lines = [line for each in measured for line in rows_of(each)]
    print(table(["model", "side", "prompt tokens/s", "least", "greatest"], lines))
    best, many = best_of_vllm(large), f"vLLM, {cores} threads"
    headline = {
        "cores": cores, "threads_of_250m": num_threads(LARGE * 1e6, cores), "best_of_vllm": best,
        "prefill_of_best": round(large.ratio("relserve", best), 3),
    }  # fmt: skip
    if not args.quick:
        headline["tiny_of_one_thread"] = round(tiny.ratio("relserve", "vLLM, 1 thread"), 3)
        headline["crossover_millions"] = crossover(measured, many) if cores > 1 else None
    medians = {f"{line[0]}: {line[1]}": float(line[2]) for line in lines}
    plot = partial(bars, values=medians, label="prompt tokens a second")
    finish("threads", headline, {each.millions: each.rates for each in measured}, args.quick, plot)


if __name__ == "__main__":
    main()
