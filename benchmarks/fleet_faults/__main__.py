"""Parts of a real fleet killed, frozen and slowed at random rows: what is lost, answered twice, late or left.

Two members with the embedded model in float32, without prefix caching, answer the same rows again and again:

* `actor`: kill -9 of a Ray actor's process; `engine`: of a member's EngineCore, a child of the owner;
* `frozen`: a member's EngineCore is stopped until the relQuery is over; `slowed`: it runs for a third of the
  time;
* `owner`: kill -9 of the process that owns the fleet, under a SQL statement whose client keeps answers (the
  members of every other one are Ray actors); the client has a new one started and goes on. Half of the times
  that one is killed, too, and only then may the statement end with an error. Then the statement is asked
  again: what came before must not be asked for again;
* `gateway`: kill -9 of `relserve serve` under a statement over PostgreSQL's protocol; every other one has
  a fleet of its own, those between share one that outlives them, and is to have nothing to do then. A new
  server is asked the same.

lost: rows without the one engine's answer, NULL ones included, asked again or not; twice: replies beyond one
a row, where the engine is asked; orphans: processes that came of what was killed and are left 8 s after the
kill, and all those of the fleets 20 s after their end. elsewhere_s: from a member's fault until each of its
rows is answered or with the other member; back_s: until it is up again (of a frozen one from when it is let
go on; of an owner until the statement has ended); told_s: until a client has the error.

latency_ratio: the time of the relQuery under a kind of fault over the ideal one, in the mean; the worst kind
counts. Ideal are the undisturbed seconds of both members for the share of rows answered before the fault, and
for the rest those of one member alone, the other drained; beside a slowed one, one's speed and a third of
what a second one adds. over_alone: the same over one member alone for all rows. RelQueries that ended with an
error have no time, but lose rows.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.fleet_faults.asked import RowsUnderWay, prompts
from benchmarks.fleet_faults.ideal import Undisturbed
from benchmarks.fleet_faults.members import Found, Members, Texts, places
from benchmarks.fleet_faults.owners import FleetGateway, FleetOwner, answers
from benchmarks.plots import bars
from benchmarks.start_up import place_of_its_own
from relserve.api import connect
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.settings import load

ROOMS = ("relserve/engines/fleet", "relserve/policies/dispatch", "relserve/resident", "relserve/server")
HEADLINE = {
    "faults": Untold("a size"), "lost": Exact(0), "twice": Exact(0), "orphans": Exact(0),
    "elsewhere_s": Lower(by=2), "elsewhere_median_s": Untold("of elsewhere_s"),
    "back_s": Lower(1, timed=True), "owner_back_s": Untold("--only owners"),
    "told_s": Untold("--only owners"), "latency_ratio": Lower(0.8), "over_alone": Lower(0.8),
}  # fmt: skip

ARGS = '{ dtype = "float32", enable_prefix_caching = false, max_num_seqs = 64 }'
CHILDREN, ACTORS = "", 'address = "local"\n'
FILE = 'model = "tiny"\n{address}[[members]]\nname = "m"\nreplicas = 2\nengine_args = {args}\n'
PARTS = ("children", "actors", "owners", "gateways")
CHILD_KINDS = ("engine", "frozen", "slowed")
COLUMNS = ("kind", "faults", "lost", "twice", "orphans", "elsewhere_s", "back_s", "told_s", "ratio",
           "over_alone")  # fmt: skip


def fleet_file(folder: Path, name: str, address: str) -> Path:
    """A fleet of two on this machine."""
    path = folder / f"{name}.toml"
    path.write_text(FILE.format(address=address, args=ARGS), encoding="utf-8")
    return path


def one_engine(rows: int) -> tuple[Texts, list[str | None]]:
    """The answers of one engine, to the rows as members are asked and to those of the SQL statement."""
    arguments = {"dtype": "float32", "enable_prefix_caching": False, "max_num_seqs": 64}
    engine = own_engine("tiny", path_of("tiny"), replace(load(), engine_args=arguments), lambda _: None)
    found = RowsUnderWay(engine, prompts(rows)).result()
    with connect(engine=engine, progress=False, cache=False) as con:
        in_sql = answers(con, rows)
    spawn(engine.close()).result()
    return found, in_sql


def of_members(
    path: Path, kinds: tuple[str, ...], times: int, expected: Texts, rng: random.Random, undisturbed: int
) -> list[Found]:
    """All faults of members of one fleet; undisturbed relQueries before tell what they are held against."""
    members, rows = Members(path), prompts(len(expected))
    try:
        members.one_s(rows, 2)  # nothing is learnt of it: the first relQueries of an engine are slower
        members.both_s(rows, 1)
        means = [statistics.mean(ask(rows, undisturbed)) for ask in (members.both_s, members.one_s)]
        healthy, runs = Undisturbed(*means), list[Found]()
        print(f"undisturbed {healthy}", file=sys.stderr)
        for kind in kinds:
            for number, at in enumerate(places(rng, times, len(rows))):
                runs.append(members.fault(kind, number % 2, rows, at, expected))
                runs[-1].update(ratios(runs[-1], healthy, len(rows)))
                show(runs[-1])
    finally:
        orphans = members.close()
    runs[-1]["orphans"] += orphans
    return runs


def ratios(run: Found, healthy: Undisturbed, rows: int) -> Found:
    """The run's time over others; nothing of one that failed, which has none."""
    if run["error"]:
        return {}
    ideal_s = healthy.ideal_s(run["kind"], run["at"] / rows)
    return {"ideal_s": ideal_s, "ratio": run["s"] / ideal_s, "over_alone": run["s"] / healthy.alone_s}


def of_owners(folder: Path, times: int, expected: list[str | None], rng: random.Random) -> list[Found]:
    """All faults of owners."""
    runs = []
    for number, at in enumerate(places(rng, times, len(expected))):
        file = fleet_file(folder, f"owner-{number}", ACTORS if number % 2 else CHILDREN)
        os.environ["RELSERVE_ANSWER_CACHE_MB"] = "64"
        os.environ["RELSERVE_CACHE_DIR"] = str(folder / f"cache-{number}")  # nobody kept anything before
        runs.append(FleetOwner(file).fault(at, number // 2 % 2 == 1, expected))
        runs[-1]["error"] = runs[-1]["error"].replace(str(folder), "..")
        show(runs[-1])
    os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"
    return runs


def of_gateways(folder: Path, times: int, expected: list[str | None], rng: random.Random) -> list[Found]:
    """All faults of gateways, and one that has none."""
    runs = []
    own, shared = [FleetGateway(fleet_file(folder, each, CHILDREN), each) for each in ("own", "shared")]
    for number, at in enumerate(places(rng, times, len(expected))):
        runs.append((shared if number % 2 else own).fault(at, expected))
        show(runs[-1])
    return runs


def show(run: Found) -> None:
    """One fault, as soon as it is over."""
    said = ", ".join(f"{key} {_short(value)}" for key, value in run.items() if value not in (None, ""))
    print(said, file=sys.stderr, flush=True)


def _short(value: Any) -> Any:
    return f"{value:.2f}" if isinstance(value, float) else value


def line_of(kind: str, runs: list[Found]) -> list[Any]:
    """The kind's line of the table: sums, the longest times, and the mean ratios; None where it has none."""
    own = [run for run in runs if run["kind"] == kind]
    ways = [sum] * 3 + [max] * 3 + [statistics.mean] * 2
    found = [[run[key] for run in own if run.get(key) is not None] for key in COLUMNS[2:]]
    return [kind, len(own), *(of(each) if each else None for of, each in zip(ways, found, strict=True))]


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, default=1600, help="of the relQuery")
    parser.add_argument("--times", type=int, default=10, help="that each fault comes")
    parser.add_argument("--seed", type=int, default=7, help="of the rows at which faults come")
    parser.add_argument("--only", choices=PARTS, help="these faults alone")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.only = 400, args.only or "children"
    times, undisturbed = (1, 2) if args.quick else (args.times, 4)
    began_s, rng = time.perf_counter(), random.Random(args.seed)
    with place_of_its_own() as environ, tempfile.TemporaryDirectory() as name:
        os.environ.update(environ, RELSERVE_ENGINE="shared")
        folder = Path(name)
        expected, in_sql = one_engine(args.rows)
        runs = []
        if args.only in (None, "children"):
            file, kinds = fleet_file(folder, "children", CHILDREN), CHILD_KINDS[: 2 if args.quick else 3]
            runs += of_members(file, kinds, times, expected, rng, undisturbed)
        if args.only in (None, "actors"):
            file = fleet_file(folder, "actors", ACTORS)
            runs += of_members(file, ("actor",), times, expected, rng, undisturbed)
        if args.only in (None, "owners"):
            runs += of_owners(folder, times, in_sql, rng)
        if args.only in (None, "gateways"):
            runs += of_gateways(folder, times, in_sql, rng)
    kinds = list(dict.fromkeys(run["kind"] for run in runs))
    lines = [line_of(kind, runs) for kind in kinds]
    print(table(COLUMNS, lines))
    minutes = (time.perf_counter() - began_s) / 60
    print(f"{args.rows} rows a relQuery; {minutes:.1f} minutes")
    finish("fleet_faults", headline_of(runs, lines), {"runs": runs, "settings": vars(args)}, args.quick,
           partial(draw, runs))  # fmt: skip


def headline_of(runs: list[Found], lines: list[list[Any]]) -> dict[str, Any]:
    """The figures of the last line; None where no such fault was."""
    elsewhere_s = [run.get("elsewhere_s") for run in runs]
    back_s = [[run.get("back_s") for run in runs if (run["kind"] == "owner") is own] for own in (False, True)]
    return {
        "faults": len(runs),
        **{key: sum(run.get(key, 0) for run in runs) for key in ("lost", "twice", "orphans")},
        "elsewhere_s": _round(max, elsewhere_s), "elsewhere_median_s": _round(statistics.median, elsewhere_s),
        "back_s": _round(max, back_s[0]), "owner_back_s": _round(max, back_s[1]),
        "told_s": _round(max, [run.get("told_s") for run in runs]),
        "latency_ratio": _round(max, [line[-2] for line in lines]),
        "over_alone": _round(max, [line[-1] for line in lines]),
    }  # fmt: skip


def _round(of: Any, values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return round(of(there), 2) if there else None


def draw(runs: list[Found], path: Path) -> None:
    """How long rows were with a member that had a fault."""
    worst = {run["kind"]: 0.0 for run in runs if run.get("elsewhere_s") is not None}
    for run in runs:
        if run["kind"] in worst:
            worst[run["kind"]] = max(worst[run["kind"]], run["elsewhere_s"])
    bars(path, worst, "seconds until rows are elsewhere, at worst")


if __name__ == "__main__":
    main()
