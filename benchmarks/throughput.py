"""Tokens a second: a 5,000-row relQuery through SQL against vllm.LLM.generate on the same prompts.

relserve runs as it comes, with the embedded model. vLLM gets the same prompts, rendered, and all that
relserve chose for its engine: threads, memory, allocator, and the limits of a step. With --before PATH,
another checkout of relserve runs too. All engines live at once and take turns, forwards and backwards;
each run begins with an empty prefix cache. A ratio is that of two runs of one turn.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import bars
from benchmarks.provenance import ROOT
from benchmarks.side import SideProcess
from benchmarks.throughput_child import SideSettings, ThroughputRun

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines/local",
    "relserve/vllm_plugin",
)  # fmt: skip
HEADLINE = {
    "rows": Untold("a size"), "sql_over_vllm": Higher(0.2), "sql_over_before": Untold("--before"),
    "same_replies": Exact(True), "sql_over_vllm_text": Untold("in full runs"),
    "sql_over_before_text": Untold("--before"), "same_replies_text": Untold("in full runs"),
}  # fmt: skip

OURS, VLLM, BEFORE = "SQL", "vllm.LLM", "SQL before"
WORKLOADS = ("choice", "text")
COLUMNS = ("workload", "side", "tokens/s", "least", "greatest", "of vllm.LLM", "least", "greatest")


class ThroughputChild(SideProcess):
    """relserve or vLLM.

    Args:
        checkout: of relserve, whose code it runs.
        variables: of its environment.
    """

    def __init__(self, order: SideSettings, checkout: Path, variables: Mapping[str, str]) -> None:
        folders = os.pathsep.join(str(checkout / part) for part in ("", "duckdb_ext", "kernels"))
        ours = {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1", "PYTHONPATH": folders}
        if checkout == ROOT:
            ours["RELSERVE_KEEP_LEARNT"] = "0"
        program = "benchmarks/throughput_child.py"
        command = [sys.executable, "-P", str(ROOT / program)]
        super().__init__(command, checkout, ours | dict(variables), program)
        self.about: dict[str, Any] = self.told(json.dumps(order._asdict()))

    def run(self) -> ThroughputRun:
        """One run."""
        return ThroughputRun(*self.told("run"))


def measure(
    workload: str, num_rows: int, num_turns: int, before: Path | None
) -> dict[str, list[ThroughputRun]]:
    """All sides of a workload, in turns.

    Raises:
        AssertionError: they count different tokens.
    """
    children: dict[str, ThroughputChild] = {}
    order = SideSettings("sql", workload, num_rows)
    try:
        children[OURS] = ThroughputChild(order, ROOT, {})
        about = children[OURS].about
        children[VLLM] = ThroughputChild(
            order._replace(own="vllm", limits=about["limits"]), ROOT, about["variables"]
        )
        if before is not None:
            children[BEFORE] = ThroughputChild(order, before, {})
        runs: dict[str, list[ThroughputRun]] = {side: [] for side in children}
        for turn in range(num_turns):
            for side in list(children)[:: -1 if turn % 2 else 1]:
                runs[side].append(children[side].run())
    finally:
        for child in children.values():
            child.close()
    assert len({run.prompt_tokens for side in runs.values() for run in side}) == 1, "the prompts differ"
    return runs


def rate(run: ThroughputRun) -> float:
    """Tokens a second."""
    return (run.prompt_tokens + run.reply_tokens) / run.seconds


def ratios(runs: Mapping[str, Sequence[ThroughputRun]], side: str, other: str) -> list[float]:
    """How many times as fast as another side, turn by turn."""
    return [rate(one) / rate(two) for one, two in zip(runs[side], runs[other], strict=True)]


def lines_of(workload: str, runs: Mapping[str, Sequence[ThroughputRun]]) -> list[list[Any]]:
    """The lines of the table."""
    return [
        [workload, side, *spread([rate(run) for run in mine]), *spread(ratios(runs, side, VLLM))]
        for side, mine in runs.items()
    ]


def spread(numbers: Sequence[float]) -> tuple[float, float, float]:
    """Median, least and greatest."""
    return statistics.median(numbers), min(numbers), max(numbers)


def checkout(path: str) -> Path:
    """A folder that holds relserve's code."""
    folder = Path(path).resolve()
    if not (folder / "relserve" / "__init__.py").is_file():
        raise ArgumentTypeError(f"{path} is no checkout of relserve")
    return folder


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--before", type=checkout, metavar="PATH", help="another checkout, to compare with")
    args = parser.parse_args()
    num_rows, num_turns = (400, 3) if args.quick else (5_000, 7)
    workloads = WORKLOADS[:1] if args.quick else WORKLOADS
    measured = {each: measure(each, num_rows, num_turns, args.before) for each in workloads}
    lines = [line for each, runs in measured.items() for line in lines_of(each, runs)]
    print(table(COLUMNS, lines))
    headline: dict[str, Any] = {"rows": num_rows}
    for each, runs in measured.items():
        same = len({run.replies for side in runs.values() for run in side}) == 1
        headline |= named("sql_over_vllm", each, statistics.median(ratios(runs, OURS, VLLM)))
        if args.before is not None:
            headline |= named("sql_over_before", each, statistics.median(ratios(runs, OURS, BEFORE)))
        headline |= named("same_replies", each, same)
    plot = partial(
        bars, values={f"{line[0]}: {line[1]}": float(line[2]) for line in lines}, label="tokens a second"
    )
    finish("throughput", headline, measured, args.quick, plot)


def named(figure: str, workload: str, value: Any) -> dict[str, Any]:
    """A figure of the headline; that of the first workload has its plain name."""
    name = figure if workload == WORKLOADS[0] else f"{figure}_{workload}"
    return {name: round(value, 3) if isinstance(value, float) else value}


if __name__ == "__main__":
    main()
