"""EXPLAIN's money against the bill, caps that hold while a statement runs, and nothing that is paid twice.

Shows on 12 workloads and 3 price lists, against a server that counts: the estimate of calls whose rows are
sure, once their lengths were seen; upper bounds where answers decide; what goes over a cap; and statements
that are refused.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import relserve
from benchmarks.claims import Exact, Lower
from benchmarks.common import arguments, finish, table
from benchmarks.spend_server import CountingServer, PriceList
from relserve import api
from relserve.errors import SpendingError
from relserve.session.caps import Limits

ROOMS = (
    "relserve/prices", "relserve/session", "relserve/cache/kept_usage.py", "relserve/engines/http",
    "duckdb_ext/relserve_duckdb/explain",
)  # fmt: skip
HEADLINE = {
    "estimate_error": Lower(0.1, by=0.02), "below_half": Exact(0), "overshoot_rows": Lower(by=2.0),
    "max_in_flight": Exact(16), "asked_twice": Exact(0), "refused_requests": Exact(0),
}  # fmt: skip

IN_FLIGHT = 16
PRICES = {
    "small": PriceList(0.15, 0.075, 0.60), "large": PriceList(2.5, 1.25, 10.0),
    "flat": PriceList(0.9, 0.9, 0.9),
}  # fmt: skip
MADE = "CREATE OR REPLACE TABLE reviews AS SELECT i AS id, '{} review number ' || i || repeat(' fine', i % 9) AS x FROM range({}) t(i)"  # noqa: E501
LABELS = "choices := ['praise', 'complaint', 'question']"


@dataclass(frozen=True)
class Workload:
    """A statement, or a call on a frame.

    Attributes:
        is_sure: no answer decides how much is asked.
        frame: the dataframe function; "": SQL.
    """

    name: str
    text: str
    is_sure: bool = True
    frame: str = ""


WORKLOADS = (
    Workload("llm", "SELECT llm('Sum up: {}', x) FROM reviews"),
    Workload("llm_classify", f"SELECT llm_classify('Kind of {{}}?', x, {LABELS}) FROM reviews"),
    Workload("llm_filter", "SELECT count(*) FROM reviews WHERE llm_filter('Is {} kind?', x)"),
    Workload("llm_score", "SELECT avg(llm_score('Stars of {}?', x)) FROM reviews"),
    Workload("llm_extract", "SELECT llm_extract('Find in {}', x, schema := '{\"word\": \"VARCHAR\"}') FROM reviews"),  # noqa: E501
    Workload("llm_agg", "SELECT llm_agg('Sum up all: {}', x) FROM reviews GROUP BY id % 20"),
    Workload("sorted LIMIT", "SELECT llm('Head of {}', x) FROM reviews ORDER BY id DESC LIMIT 40"),
    Workload("frame llm", "Tell of {x}", frame="llm"),
    Workload("frame llm_filter", "Is {x} long?", frame="llm_filter"),
    Workload(
        "filter LIMIT", "SELECT id FROM reviews WHERE llm_filter('Is {} new?', x) LIMIT 5", False
    ),
    Workload(
        "cascade",
        "SELECT llm('Why: {}', x) FROM reviews WHERE llm_filter('Is {} angry?', x)",
        False,
    ),
    Workload("text2sql", "FROM text2sql('How many reviews are there?')", False),
)


@dataclass(frozen=True)
class Spent:
    """What one workload came to under one price list; None: not told, or not tried.

    Attributes:
        first, first_bill: dollars before any length was seen, and what came of it.
        estimate, bill: the same with the lengths seen then, of other rows.
        is_sure: no answer decides how much is asked.
    """

    workload: str
    prices: str
    first: float | None
    first_bill: float
    estimate: float | None
    bill: float
    overshoot_rows: int | None = None
    asked_twice: int = 0
    refused_requests: int | None = None
    in_flight: int = 0
    is_sure: bool = True

    @property
    def error(self) -> float | None:
        """Of the estimate with lengths seen before, as a share of the bill."""
        return None if self.estimate is None or not self.bill else abs(self.estimate / self.bill - 1)


class Trial:
    """One workload on a connection to a server."""

    def __init__(self, workload: Workload, server: CountingServer, num_rows: int) -> None:
        self._of, self._server, self._num_rows = workload, server, num_rows
        self.con = api.connect(model=server.model, progress=False)

    @property
    def name(self) -> str:
        """The workload's."""
        return self._of.name

    def use(self, word: str) -> None:
        """Have other rows."""
        self.con.execute(MADE.format(word, self._num_rows))

    def estimate(self) -> float | None:
        """EXPLAIN's dollars; of a frame those of the same call in SQL."""
        of = self._of
        sql = of.text if not of.frame else f"SELECT {of.frame}('{of.text}', x) FROM reviews"
        told = self.con.explain_llm(sql)
        return told.cost if told.calls else None

    def run(self, cap: float | None = None) -> None:
        """Run it, at most so many dollars of it."""
        if not self._of.frame:
            self.con.session.spending.statement = Limits(cost=cap)
            self.con.execute(self._of.text).fetchall()
            return
        rows = pa.table({"x": self.con.execute("SELECT x FROM reviews").to_arrow_table()["x"]})
        ask = getattr(relserve, self._of.frame)
        ask(rows, self._of.text, model=self._server.model, progress=False, max_cost=cap)


def measure(workload: Workload, name: str, server: CountingServer, num_rows: int) -> Spent:
    """One workload: its first estimate, that with lengths seen, the bill, and caps."""
    trial = Trial(workload, server, num_rows)
    trial.use("seen")
    first, first_bill = trial.estimate(), _bill_of(server, trial.run)
    trial.use("new")
    told, bill = trial.estimate(), _bill_of(server, trial.run)
    known = (workload.name, name, first, first_bill, told, bill)
    if told is None:
        return Spent(*known, is_sure=False)
    refused = _refused(trial, server, told) if workload.is_sure else None
    over, in_flight = _overshoot(trial, server, told)
    twice = sum(count - 1 for count in server.prompts.values())
    return Spent(*known, over, twice, refused, in_flight, workload.is_sure)


def _bill_of(server: CountingServer, run: Callable[[], None]) -> float:
    before = server.bill
    run()
    return server.bill - before


def _refused(trial: Trial, server: CountingServer, told: float) -> int:
    """Requests of a statement whose estimate is over its cap."""
    trial.use("refused")
    before = server.num_requests
    try:
        trial.run(told / 10)
    except SpendingError:
        return server.num_requests - before
    raise AssertionError(f"{trial.name} was not refused")


def _overshoot(trial: Trial, server: CountingServer, told: float) -> tuple[int, int]:
    """Rows over a cap at a server that suddenly charges three times as much; then the rest is asked."""
    trial.use("dear")
    server.factor, server.most_inside, before = 3.0, 0, server.num_requests
    cap = told * 1.2
    bill = _bill_of(server, lambda: trial.run(cap))
    num = max(1, server.num_requests - before)
    _bill_of(server, lambda: trial.run(1e6))
    server.factor = 1.0
    return max(0, math.ceil((bill - cap) / (bill / num) - 1e-9)), server.most_inside


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    os.environ |= {
        "RELSERVE_KEEP_LEARNT": "1", "RELSERVE_ANSWER_CACHE_MB": "64",
        "RELSERVE_MAX_IN_FLIGHT": str(IN_FLIGHT),
    }  # fmt: skip
    num_rows = 80 if args.quick else 400
    found: list[Spent] = []
    for name, prices in list(PRICES.items())[: 1 if args.quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            found += _under(name, prices, num_rows, Path(folder))
    columns = ["workload", "prices", "estimate", "bill", "error", "over rows", "twice", "refused asked"]
    rows: list[list[Any]] = [
        [f.workload + ("" if f.is_sure else " (bound)"), f.prices, f.estimate, f.bill, f.error,
         f.overshoot_rows, f.asked_twice, f.refused_requests]
        for f in found
    ]  # fmt: skip
    print(table(columns, rows))
    finish("spend", headline_of(found), [dict(zip(columns, row, strict=True)) for row in rows], args.quick)


def headline_of(found: Sequence[Spent]) -> dict[str, Any]:
    """The worst of all workloads."""
    errors = [each.error for each in found if each.is_sure and each.error is not None]
    told = [pair for f in found for pair in ((f.first, f.first_bill), (f.estimate, f.bill))]
    return {
        "estimate_error": round(max(errors), 4),
        "below_half": sum(cost is not None and cost < bill / 2 for cost, bill in told),
        "overshoot_rows": max(each.overshoot_rows or 0 for each in found),
        "max_in_flight": max(each.in_flight for each in found),
        "asked_twice": sum(each.asked_twice for each in found),
        "refused_requests": sum(each.refused_requests or 0 for each in found),
    }


def _under(name: str, prices: PriceList, num_rows: int, folder: Path) -> list[Spent]:
    """All workloads under one price list, each at a server of its own."""
    found = []
    for workload in WORKLOADS:
        server = CountingServer(prices)
        rates = "".join(f"{key} = {value}\n" for key, value in prices._asdict().items())
        (folder / "prices.toml").write_text(f'["127.0.0.1:{server.port}"]\n{rates}', encoding="utf-8")
        os.environ |= {"RELSERVE_CACHE_DIR": str(folder), "RELSERVE_PRICES": str(folder / "prices.toml")}
        found.append(measure(workload, name, server, num_rows))
        api.close_engines(server.model)
        server.close()
    return found


if __name__ == "__main__":
    main()
