"""A fleet of two engines on this machine: rows equal to one engine's, and what asking it costs more.

`relserve fleet up` starts two members with the embedded model in float32, the time to the first answer in SQL
being taken from the command on. Then all statements of the demo and `--rows` beer reviews are asked of the
fleet and of one engine in this process, row by row; equal: both gave the same.

What the fleet adds is measured with one member, so that both sides have one engine of the same arguments and
the same cores: single calls in turns, their medians, and statements over `--batch` rows in turns, each run
with rows of its own. Two members are shown beside them; a quick run has one only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.beer import classify_call, create_beer_table
from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import bars
from benchmarks.start_up import RELSERVE, place_of_its_own
from relserve.api import Connection, close_engines, connect
from relserve.cli.demo import prepare

ROOMS = ("relserve/engines/fleet", "relserve/engines/local", "relserve/policies/dispatch", "relserve/session")
HEADLINE = {
    "equal": Exact(True), "rows": Untold("a size"), "overhead_ms": Lower(by=8),
    "overhead_share": Lower(by=0.4), "first_answer_s": Lower(0.6, timed=True),
}  # fmt: skip

ARGS = '{"dtype": "float32"}'  # in which batches of other sizes give the same answers
FILE = """model = "tiny"

[[members]]
name = "member"
replicas = {replicas}
engine_args = {{ dtype = "float32" }}
"""
FIRST = "SELECT llm_classify('Is this good? {}', 'very good', choices := ['yes', 'no'])"
SINGLE = "SELECT llm_classify('Is {{}} a nice number?', {number}, choices := ['yes', 'no'])"
BATCH = "SELECT id, {call} FROM beer WHERE id > {after} ORDER BY id LIMIT {rows}"
SIDES = ("one engine", "fleet of 1", "fleet of 2")

Ask = Callable[[str], list[tuple[Any, ...]]]


def fleet_file(folder: str, replicas: int) -> str:
    """The model's name of a fleet with so many members."""
    path = Path(folder) / f"fleet-{replicas}.toml"
    path.write_text(FILE.format(replicas=replicas), encoding="utf-8")
    return f"fleet:{path}"


def up_s(model: str, environ: dict[str, str]) -> float:
    """Seconds from `relserve fleet up` to the first answer; the fleet is taken down again."""
    path = model.removeprefix("fleet:")
    began_s = time.perf_counter()
    subprocess.run([*RELSERVE, "fleet", "up", path], env=environ, check=True, stdout=subprocess.DEVNULL)
    ask = [*RELSERVE, "sql", "--model", model, "--format", "csv", FIRST]
    said = subprocess.run(ask, env=environ, check=True, capture_output=True, text=True).stdout
    took_s = time.perf_counter() - began_s
    if said.splitlines()[-1].strip('"') not in ("yes", "no"):
        raise RuntimeError(f"the first answer is {said!r}")
    subprocess.run([*RELSERVE, "fleet", "down", path], env=environ, check=True, stdout=subprocess.DEVNULL)
    return took_s


def answers(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return con.execute(sql).fetchall()


def equal(one: Ask, fleet: Ask, statements: Sequence[str]) -> tuple[int, int]:
    """Rows that both gave, and those of them that are equal."""
    rows = same = 0
    for statement in statements:
        first, second = one(statement), fleet(statement)
        rows += max(len(first), len(second))
        same += sum(a == b for a, b in zip(first, second, strict=False))
    return rows, same


def singles_ms(asks: Sequence[Ask], rounds: int) -> list[float]:
    """The median time of a call, by side; in each round each side asks about a number of its own."""
    took: list[list[float]] = [[] for _ in asks]
    for number in range(rounds):
        for place in range(len(asks)):
            side = (place + number) % len(asks)
            began_s = time.perf_counter()
            asks[side](SINGLE.format(number=number))
            took[side].append(time.perf_counter() - began_s)
    return [1e3 * statistics.median(each) for each in took]


def batches_s(asks: Sequence[Ask], rows: int, rounds: int) -> list[list[float]]:
    """Seconds of statements over so many rows, by side and round; all sides ask the same ones in a round."""
    took: list[list[float]] = [[] for _ in asks]
    for number in range(rounds):
        sql = BATCH.format(call=classify_call(), after=number * rows, rows=rows)
        for place in range(len(asks)):
            side = (place + number) % len(asks)
            began_s = time.perf_counter()
            asks[side](sql)
            took[side].append(time.perf_counter() - began_s)
    return took


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, default=5000, help="beer reviews that are compared")
    parser.add_argument("--batch", type=int, default=2000, help="rows of a statement that is timed")
    parser.add_argument("--rounds", type=int, default=5, help="of statements; 40 times as many single calls")
    args = parser.parse_args()
    rows, batch, rounds = (200, 100, 1) if args.quick else (args.rows, args.batch, args.rounds)
    with place_of_its_own() as environ, tempfile.TemporaryDirectory() as folder:
        sizes = (1,) if args.quick else (1, 2)
        first_s = up_s(fleet_file(folder, sizes[-1]), environ)
        names = ["tiny", *(fleet_file(folder, size) for size in sizes)]
        asks: list[Ask] = []
        os.environ.update(environ, RELSERVE_ENGINE="own", RELSERVE_ENGINE_ARGS=ARGS)
        for name in names:
            con = connect(model=name, progress=False, cache=False)
            shown = prepare(con)
            create_beer_table(con)
            asks.append(partial(answers, con))
            asks[-1](BATCH.format(call=classify_call(), after=9000, rows=200))
        sql = BATCH.format(call=classify_call(), after=0, rows=rows)
        num_rows, num_same = equal(asks[0], asks[-1], [*(each.sql for each in shown), sql])
        single = singles_ms(asks, 40 * rounds)
        batches = batches_s(asks, batch, rounds)
        close_engines()
    shares = [b / a - 1.0 for a, b in zip(batches[0], batches[1], strict=True)]
    lines = [
        [side, ms, statistics.median(took), min(took), max(took)]
        for side, ms, took in zip(SIDES[: len(asks)], single, batches, strict=True)
    ]
    print(table(("side", "one call, ms", f"{batch} rows, s", "least", "most"), lines))
    print(f"{num_same} of {num_rows} rows are equal; first answer {first_s:.1f} s after `relserve fleet up`")
    headline = {
        "equal": num_same == num_rows, "rows": num_rows, "overhead_ms": round(single[1] - single[0], 2),
        "overhead_share": round(statistics.median(shares), 3), "first_answer_s": round(first_s, 1),
    }  # fmt: skip
    details = {"lines": lines, "batches_s": batches, "shares": shares, "settings": vars(args)}
    finish("fleet", headline, details, args.quick, partial(draw, batches))


def draw(batches: Sequence[Sequence[float]], path: Path) -> None:
    """The statements' times."""
    medians = [statistics.median(each) for each in batches]
    bars(path, dict(zip(SIDES, medians, strict=True)), "seconds of a statement")


if __name__ == "__main__":
    main()
