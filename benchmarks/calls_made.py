"""Prompts asked against the least possible: LIMIT over llm filters or a sorted list, filters in any order.

Shows that relserve stops at a LIMIT, asks only the rows of a sorted list that come out, and orders llm
filters by itself. The engine is scripted, so that the least is known: for a LIMIT the rows up to the last one
needed, for several filters the best fixed order.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import connect
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/policies/filter_order.py",
)  # fmt: skip
HEADLINE = {
    "limit_worst_ratio": Lower(0.02), "order_worst_ratio": Lower(0.02),
    "order_and_limit_worst_ratio": Lower(0.02), "sorted_limit_worst_ratio": Lower(),
    "cheap_predicate_asked": Lower(), "cheap_predicate_least": Untold("a size"), "explain_asked": Exact(0),
}  # fmt: skip

TABLE = "CREATE TABLE reviews AS SELECT i AS id, 'review ' || i AS body FROM range({}) t(i)"

SORTED = (  # no answer decides which rows come first
    "SELECT id, {call} FROM reviews WHERE body IS NOT NULL ORDER BY id LIMIT 60",
    "SELECT r.id, {call} FROM reviews r JOIN range(100) o(n) ON r.id = o.n ORDER BY o.n DESC LIMIT 60",
    "WITH m AS (SELECT id, {call} AS mood FROM reviews) SELECT * FROM m ORDER BY id DESC LIMIT 60",
)
ORDERS = ((80, 10), (10, 80), (50, 50), (90, 50, 10), (10, 50, 90))  # percentages that pass, as written


@dataclass(frozen=True)
class CallsMade:
    """One line of the table.

    Attributes:
        shares: of each filter, in the order of the text, the percentage of rows that it lets pass.
        least: fewest prompts that can do.
        asked: prompts asked.
        plain: prompts asked without prefetch, DuckDB calling the function chunk by chunk.
    """

    query: str
    shares: tuple[int, ...]
    least: int
    asked: int
    plain: int

    @property
    def ratio(self) -> float | None:
        return self.asked / self.least if self.least else None


def says_yes(prompt: str) -> bool:
    """Whether the engine answers yes; the last line of the prompt begins with letter and percentage."""
    line = prompt.splitlines()[-1]
    share = int(line.split()[1])
    return int.from_bytes(hashlib.blake2b(line.encode(), digest_size=4).digest(), "big") % 100 < share


def answer(prompt: str, submission: Submission) -> str:
    return "yes" if says_yes(prompt) else "no"


def templates(shares: Sequence[int]) -> list[str]:
    return [f"{letter} {share} {{}}" for letter, share in zip("abcd", shares, strict=False)]


def fewest(num_rows: int, shares: Sequence[int], limit: int | None) -> int:
    """Prompts of the best fixed order of the filters, row by row until the LIMIT is full."""
    passes = [
        [says_yes(template.replace("{}", f"review {i}")) for i in range(num_rows)]
        for template in templates(shares)
    ]
    return min(_in_order(order, limit) for order in itertools.permutations(passes))


def _in_order(filters: Sequence[Sequence[bool]], limit: int | None) -> int:
    asked = passed = 0
    for row in zip(*filters, strict=True):
        if passed == limit:
            break
        asked += row.index(False) + 1 if False in row else len(row)
        passed += all(row)
    return asked


def count(sql: str, num_rows: int, prefetch: bool) -> int:
    """Prompts that a statement asks on a fresh connection."""
    engine = ScriptedEngine(answer)
    con = connect(engine=engine, progress=False, prefetch=prefetch)
    con.execute(TABLE.format(num_rows))
    con.execute(sql).fetchall()
    con.close()
    return engine.num_prompts


def measure(num_rows: int, shares: tuple[int, ...], tail: str = "", limit: int | None = None) -> CallsMade:
    """One statement with these filters."""
    filters = " AND ".join(f"llm_filter('{template}', body)" for template in templates(shares))
    sql = f"SELECT id FROM reviews WHERE {filters}{tail}"
    shown = " AND ".join(f"{letter}({share} %)" for letter, share in zip("abcd", shares, strict=False))
    least = fewest(num_rows, shares, limit)
    return CallsMade(f"WHERE {shown}{tail}", shares, least, *(count(sql, num_rows, p) for p in (True, False)))


def cheap_first(num_rows: int) -> CallsMade:
    """A cheap predicate beside the filter."""
    sql = "SELECT id FROM reviews WHERE id % 97 = 5 AND llm_filter('a 50 {}', body)"
    least = len(range(5, num_rows, 97))
    asked = [count(sql, num_rows, prefetch) for prefetch in (True, False)]
    return CallsMade("WHERE id % 97 = 5 AND a(50 %)", (50,), least, *asked)


def sorted_list(num_rows: int, sql: str) -> CallsMade:
    """A call in the SELECT list of sorted rows, of which 60 come out."""
    text = sql.format(call="llm_filter('a 50 {}', body)")
    return CallsMade(
        sql.format(call="a(50 %)"), (50,), 60, *(count(text, num_rows, p) for p in (True, False))
    )


def explain(num_rows: int) -> CallsMade:
    """A plan asks nothing."""
    sql = "EXPLAIN SELECT id FROM reviews WHERE llm_filter('a 10 {}', body) LIMIT 10"
    return CallsMade("EXPLAIN ..", (10,), 0, *(count(sql, num_rows, p) for p in (True, False)))


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows = 10_000
    limited = [measure(num_rows, (share,), " LIMIT 10", 10) for share in (1, 10, 50)]
    ordered = [measure(num_rows, shares) for shares in ORDERS]
    both = [measure(num_rows, shares, " LIMIT 10", 10) for shares in ((80, 10), (10, 80), (90, 50, 30))]
    cheap, plan = cheap_first(num_rows), explain(num_rows)
    lists = [sorted_list(num_rows, sql) for sql in SORTED]
    lines = [*limited, *ordered, *both, *lists, cheap, plan]
    columns = ["query", "rows", "least", "asked", "ratio", "without prefetch"]
    rows: list[list[Any]] = [
        [each.query, num_rows, each.least, each.asked, each.ratio, each.plain] for each in lines
    ]
    print(table(columns, rows))
    headline = {
        "limit_worst_ratio": _worst(limited), "order_worst_ratio": _worst(ordered),
        "order_and_limit_worst_ratio": _worst(both), "sorted_limit_worst_ratio": _worst(lists),
        "cheap_predicate_asked": cheap.asked,
        "cheap_predicate_least": cheap.least, "explain_asked": plan.asked,
    }  # fmt: skip
    details = [dict(zip(columns, row, strict=True)) for row in rows]
    finish("calls_made", headline, details, args.quick)


def _worst(lines: Sequence[CallsMade]) -> float:
    return round(max(each.ratio or 0 for each in lines), 3)


if __name__ == "__main__":
    main()
