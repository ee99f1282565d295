"""Every benchmark's quick run, one after the other, held against its quick run of before.

A figure is worse if it has lost more than the spread that its benchmark declares (`claims`). Quick runs are
held against quick runs, kept in benchmarks/results/regress.json, for their sizes are other than those of full
runs; the ratio to the last full run stands beside. Figures that go by the clock are compared at one speed of
the machine, told by a fixed piece of work before and after each benchmark, and only with a run on the same
kind of machine, of which the file may have several. Who came out worse runs once more, while the time lasts,
and the better of both counts; a wrong value, or a run that fails, has no second try.

Nothing else may run beside it. `--renew` keeps the figures of this run as those to be held against: from a
committed tree, after a change that is meant to move them. Status 1 if a figure is worse or a run failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.claims import Benchmark, Untold, benchmarks, figures_of, rule_of
from benchmarks.common import finish, table, why_not_saved
from benchmarks.provenance import RESULTS, machine, provenance
from benchmarks.regress.children import SKIPPED, EndedRun, lacking, quick_command, run_quick
from benchmarks.regress.judge import BAD, GONE, NEW, WORSE, WRONG, FigureVerdict, judged
from benchmarks.saved import saved_results

ROOMS = ("relserve", "duckdb_ext", "kernels", "lab", "training")

NAME = "regress"
LIMIT_S = 480.0  # of one benchmark, on a slow machine too
MINUTES = 25.0  # of all on a quiet one; nothing runs a second time after that
COLUMNS = ("benchmark", "figure", "now", "before", "now/before", "of its spread", "now/full", "verdict")

Kept = Mapping[str, Mapping[str, Any]]


class RegressOutcome(NamedTuple):
    """A benchmark's quick run and the verdicts on its figures."""

    name: str
    ended: EndedRun
    verdicts: Sequence[FigureVerdict]

    @property
    def worst(self) -> FigureVerdict | None:
        """The verdict that is nearest to being bad, or worst."""
        return max(self.verdicts, key=_badness, default=None)

    @property
    def word(self) -> str:
        """What came of it."""
        if self.ended.headline is None:
            return "skipped" if self.ended.is_skipped else "failed"
        return self.worst.word if self.worst else "nothing held"

    @property
    def may_repeat(self) -> bool:
        """Whether all that is bad may be the machine's moment."""
        return {each.word for each in self.verdicts if each.word in BAD} == {WORSE}

    @property
    def line(self) -> str:
        """What is said of it as soon as it is over."""
        told = self.ended.why.removeprefix(SKIPPED).partition("\n")[0]
        if self.worst and self.ended.headline is not None:
            figure, now, before, *_ = self.worst.row
            told = f"{figure} {now}" + ("" if self.worst.word == NEW else f", before {before}")
        return f"{self.name:<22} {self.ended.seconds:4.0f} s  {self.word:<8} {told}"


def measure(benchmark: Benchmark, kept: Kept, full: Mapping[str, Mapping[str, Any]]) -> RegressOutcome:
    """Run a benchmark quickly and judge it."""
    missing = lacking(benchmark.needs)
    ended = (
        EndedRun(None, missing, 0.0, 0.0) if missing else run_quick(quick_command(benchmark.name), LIMIT_S)
    )
    if ended.headline is None:
        return RegressOutcome(benchmark.name, ended, ())
    before, whole = kept.get(benchmark.name), full.get(benchmark.name)
    if before is None:
        return RegressOutcome(benchmark.name, ended, judged(benchmark, ended.headline, None, None, whole))
    slower = ended.probe_s / before["probe_s"] if before["machine"] == machine() else None
    verdicts = judged(benchmark, ended.headline, before["headline"], slower, whole)
    return RegressOutcome(benchmark.name, ended, verdicts)


def better_of(one: RegressOutcome, two: RegressOutcome) -> RegressOutcome:
    """Two runs of one benchmark, figure by figure the better of both; one that failed counts."""
    if two.ended.headline is None:
        return two
    again = {each.figure: each for each in two.verdicts}
    pairs = [(each, again.get(each.figure, each)) for each in one.verdicts]
    return RegressOutcome(one.name, two.ended, [min(pair, key=_counts) for pair in pairs])


def _counts(verdict: FigureVerdict) -> tuple[bool, float]:
    """Of two verdicts on a figure the least counts: one that is wrong, then the better."""
    return verdict.word not in (WRONG, GONE), verdict.used


def _badness(verdict: FigureVerdict) -> tuple[bool, float]:
    return verdict.word in BAD, verdict.used


def kept_runs() -> list[dict[str, Any]]:
    """The quick runs that are held against: one of each benchmark on each kind of machine."""
    path = RESULTS / f"{NAME}.json"
    return json.loads(path.read_text(encoding="utf-8"))["details"] if path.exists() else []


def for_machine(runs: Sequence[Mapping[str, Any]], here: str) -> dict[str, Mapping[str, Any]]:
    """The run of each benchmark that is held against here: this machine's, or else the latest of another."""
    latest_last = sorted(runs, key=lambda each: (each["machine"] == here, each["date"]))
    return {each["name"]: each for each in latest_last}


def renewed(runs: Sequence[Mapping[str, Any]], outcomes: Sequence[RegressOutcome]) -> list[Mapping[str, Any]]:
    """What was kept, with the runs that came to their end in place of those before on this machine."""
    of = {key: value for key, value in provenance().items() if key in ("commit", "date", "machine")}
    new = [
        {"name": each.name, **of, "seconds": round(each.ended.seconds, 1), "probe_s": each.ended.probe_s,
         "headline": each.ended.headline}
        for each in outcomes if each.ended.headline is not None
    ]  # fmt: skip
    all_runs = {(each["name"], each["machine"]): each for each in [*runs, *new]}
    return [all_runs[key] for key in sorted(all_runs)]


def untold(benchmark: Benchmark, headline: Mapping[str, Any]) -> dict[str, list[str]]:
    """The figures that are not held, by the reason."""
    found: dict[str, list[str]] = {}
    for figure in figures_of(headline, benchmark.headline):
        rule = rule_of(figure, benchmark.headline)
        if rule is None or isinstance(rule, Untold):
            found.setdefault(rule.why if rule else "no rule is declared", []).append(figure)
    return found


def report(declared: Mapping[str, Benchmark], outcomes: Sequence[RegressOutcome]) -> None:
    """Print all figures, then what is not held and why."""
    rows = [[each.name, *verdict.row] for each in outcomes for verdict in each.verdicts]
    print("\n" + table(COLUMNS, rows) + "\n")
    for each in outcomes:
        if each.ended.headline is None:
            print(f"{each.name} {each.word}: {each.ended.why.removeprefix(SKIPPED)}")
        for why, figures in untold(declared[each.name], each.ended.headline or {}).items():
            print(f"{each.name} does not hold {', '.join(figures)}: {why}")


def main() -> int:
    """Run all, or those that are named, and say what is worse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these benchmarks alone")
    parser.add_argument("--renew", action="store_true", help="keep these figures as those to be held against")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    declared = {name: each for name, each in benchmarks().items() if each.headline}
    if unknown := [name for name in args.only if name not in declared]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(declared)}")
    if args.renew and (reason := why_not_saved()):
        parser.error(f"nothing can be renewed: {reason}")
    full = {each.name: each.headline for each in saved_results()}
    runs, began_s = kept_runs(), time.monotonic()
    kept = for_machine(runs, machine())
    print(f"load average {os.getloadavg()[0]:.1f}; what else runs makes figures worse", flush=True)
    if not kept:
        print("there is no quick run of before, so only exact values are held; --renew makes one", flush=True)
    outcomes: dict[str, RegressOutcome] = {}
    for number, name in enumerate(args.only or declared, start=1):
        outcomes[name] = measure(declared[name], kept, full)
        print(f"{number:2} of {len(args.only or declared)}  {outcomes[name].line}", flush=True)
    for name, outcome in outcomes.items():
        if outcome.may_repeat and not args.renew and time.monotonic() - began_s < 60 * MINUTES:
            outcomes[name] = better_of(outcome, measure(declared[name], kept, full))
            print(f"once more  {outcomes[name].line}", flush=True)
    found = list(outcomes.values())
    report(declared, found)
    headline = headline_of(found) | {"minutes": round((time.monotonic() - began_s) / 60, 1)}
    finish(NAME, headline, renewed(runs, found), quick=not args.renew)
    return 1 if headline["worse"] or headline["failed"] else 0


def headline_of(outcomes: Sequence[RegressOutcome]) -> dict[str, Any]:
    """How many ran and how many figures were held, and the names of what was not well."""
    verdicts = [(each.name, verdict) for each in outcomes for verdict in each.verdicts]
    return {
        "benchmarks": len(outcomes), "held": sum(verdict.word != NEW for _, verdict in verdicts),
        "new": sum(verdict.word == NEW for _, verdict in verdicts),
        "worse": [f"{name} {verdict.figure}" for name, verdict in verdicts if verdict.word in BAD],
        **{word: [each.name for each in outcomes if each.word == word] for word in ("failed", "skipped")},
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
