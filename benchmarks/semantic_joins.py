"""How many calls a join on llm_filter takes by each strategy, beside one call for each pair.

Real and shipped tables with known matches, which an engine replays, so that no model is needed. `right`
answers as the matches are. `noisy` believes 3 % of the matches false and 0.02 % of the other pairs true,
whichever way it is asked, and in lists it also misses matches, the more the longer they are. `careless` finds
nothing in lists. F1 is against the known matches. That of pairs is what the same engine reaches if it is
asked each pair.

`calls_saved` is pairs by calls, and `f1_loss` what F1 loses against pairs, in points: the worst of `auto`
over the joins of 60 x 400 and 200 x 1,000 rows with the engines that are right and noisy. `careless_calls` is
the most calls of `auto` by pairs where no strategy agrees. `guaranteed_saved` is the least that `auto` saves
with `precision := 0.9, recall := 0.9`, and `guaranteed_met` the share of joins where both hold.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.claims import Higher, Lower
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.join_tables import TEMPLATE, JoinReplay, KnownJoin, Noise, joins

ROOMS = ("relserve/policies/joining", "relserve/session", "relserve/call/pair_lists.py")
HEADLINE = {
    "calls_saved": Higher(0.1), "f1_loss": Lower(by=0.5), "careless_calls": Lower(by=0.05),
    "guaranteed_saved": Higher(0.1), "guaranteed_met": Higher(by=0.01),
}  # fmt: skip

ENGINES_OF = {"right": Noise(), "noisy": Noise(0.03, 0.0002, 0.005), "careless": Noise(missed_in_block=1e9)}
STRATEGIES = ("classify", "blocks", "candidates", "auto")
TARGET = 0.9
LEAST_PAIRS = 20_000  # of the joins that the headline is about


class JoinCell(NamedTuple):
    """One join, engine and strategy."""

    join: str
    engine: str
    strategy: str
    pairs: int
    calls: int
    f1: float
    f1_pairs: float
    precision: float
    recall: float
    """Of the pairs that the engine answers with yes, as for `precision`."""
    seconds: float
    told: str

    @property
    def saved(self) -> float:
        return self.pairs / self.calls

    @property
    def loss(self) -> float:
        """In points."""
        return 100 * (self.f1_pairs - self.f1)


@contextmanager
def connection(replay: JoinReplay) -> Iterator[Any]:
    """A connection to an engine that replays, and the engine."""
    import relserve
    from relserve.api import ENGINES
    from relserve.engines.scripted import ScriptedEngine

    engine = ScriptedEngine(replay, model="replay")
    ENGINES.put("replay", engine)
    with relserve.connect(model="replay") as con:
        yield con, engine
    ENGINES.close("replay")


def measured(join: KnownJoin, engine: str, strategy: str, more: str = "") -> JoinCell:
    """The join in SQL."""
    replay = JoinReplay(join, ENGINES_OF[engine])
    a, b = pa.table({"x": join.many}), pa.table({"y": join.few})
    with connection(replay) as (con, scripted):
        con.register("a", a)
        con.register("b", b)
        start_s = time.perf_counter()
        given = strategy if not more else strategy.partition(" ")[0]
        call = f"llm_filter('{TEMPLATE}', a.x, b.y, join := '{given}'{more})"
        rows = set(con.execute(f"SELECT a.x, b.y FROM a JOIN b ON {call}").fetchall())
        seconds = time.perf_counter() - start_s
        told = con.execute("SELECT join_plan FROM llm_queries() WHERE function = 'llm_filter'").fetchall()
    known = set(join.matches.items())
    believed = {(text, one) for text in join.many for one in join.few if replay.believes(text, one)}
    both = len(rows & believed)
    return JoinCell(
        join.name, engine, strategy, join.num_pairs, scripted.num_prompts, f1(rows, known),
        f1(believed, known), both / max(1, len(rows)), both / max(1, len(believed)), seconds,
        str(told[-1][0]).partition(": ")[2],
    )  # fmt: skip


def f1(found: set[tuple[str, str]], known: set[tuple[str, str]]) -> float:
    """Of pairs that were found against those that are known."""
    return 2 * len(found & known) / (len(found) + len(known))


def headline_of(cells: Sequence[JoinCell]) -> dict[str, float]:
    """The figures of the last line."""
    large = [cell for cell in cells if cell.pairs >= LEAST_PAIRS]
    auto = [cell for cell in large if cell.strategy == "auto"]
    agreeing = [cell for cell in auto if cell.engine != "careless"]
    guaranteed = [cell for cell in large if cell.strategy.startswith("auto at")]
    met = [min(cell.precision, cell.recall) >= TARGET for cell in guaranteed]
    return {
        "calls_saved": round(min(cell.saved for cell in agreeing), 1),
        "f1_loss": round(max(cell.loss for cell in agreeing), 2),
        "careless_calls": round(max(1 / cell.saved for cell in auto if cell.engine == "careless"), 3),
        "guaranteed_saved": round(min(cell.saved for cell in guaranteed), 1),
        "guaranteed_met": sum(met) / len(met),
    }


def cells_of(join: KnownJoin) -> Iterator[JoinCell]:
    """All engines and strategies of a join."""
    for engine in ENGINES_OF:
        for strategy in STRATEGIES if engine != "careless" else ("auto",):
            yield measured(join, engine, strategy)
        if engine != "careless":
            targets = f", precision := {TARGET}, recall := {TARGET}"
            yield measured(join, engine, f"auto at {TARGET}", targets)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"
    warnings.simplefilter("ignore")  # the engine favours one answer, as pairs of a join do
    found = list(joins(data_folder() / "tables"))
    cells = [cell for join in found if not args.quick or join.num_pairs < 100_000 for cell in cells_of(join)]
    columns = ["join", "engine", "strategy", "pairs", "calls", "saved", "F1", "F1 of pairs", "seconds", "how"]
    rows = [
        [c.join, c.engine, c.strategy, c.pairs, c.calls, round(c.saved, 1), round(c.f1, 3),
         round(c.f1_pairs, 3), round(c.seconds, 1), c.told]
        for c in cells
    ]  # fmt: skip
    print(table(columns, rows))
    print("aims: calls_saved of 15, f1_loss of 2 points at most")
    finish("semantic_joins", headline_of(cells), {"columns": columns, "rows": rows}, args.quick)


if __name__ == "__main__":
    main()
