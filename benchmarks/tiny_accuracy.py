"""Accuracy of the embedded model, through SQL: held-out generated rows, and sentiment of real reviews.

The generated rows come with instructions as in training and with instructions never seen in it. The real
reviews have no bar: they are there as the honest figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from benchmarks.beer import quoted
from benchmarks.claims import Higher
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect
from training.tiny.corpus.heldout import EvalGroup, heldout
from training.tiny.evaluate import is_right
from training.tiny.real_rows import amazon_sentiment, beer_sentiment

ROOMS = ("relserve/tiny", "training/tiny", "relserve/call", "relserve/engines/local")
HEADLINE = {
    "sentiment": Higher(by=0.034), "sentiment_unseen": Higher(by=0.034), "yes_no": Higher(by=0.034),
    "yes_no_unseen": Higher(by=0.034), "category": Higher(by=0.034), "category_unseen": Higher(by=0.034),
    "rating": Higher(by=0.034), "rating_unseen": Higher(by=0.034), "real_amazon": Higher(by=0.034),
    "real_beer": Higher(by=0.034),
}  # fmt: skip

BARS = {"sentiment": 0.95, "yes_no": 0.90, "category": 0.90, "rating": 0.90}
SEED = 2026


def call_of(group: EvalGroup) -> str:
    """The SQL call that asks a group's question of its column."""
    arguments_ = f"{quoted(group.template)}, {group.column}"
    if group.bounds is not None:
        return f"llm_score({arguments_}, lo := {group.bounds[0]}, hi := {group.bounds[1]})::INTEGER::VARCHAR"
    if group.task == "yes_no":
        return f"CASE WHEN llm_filter({arguments_}) THEN 'yes' ELSE 'no' END"
    choices = ", ".join(quoted(c) for c in group.choices)
    return f"llm_classify({arguments_}, choices := [{choices}])"


def verdicts(con: Connection, groups: Sequence[EvalGroup]) -> list[tuple[str, bool]]:
    """The expected answer of each row, and whether it came; a rating may be one step of five off."""
    found = []
    for group in groups:
        rows = pa.table({"i": range(len(group.expected)), group.column: group.columns[group.column]})
        con.raw.register("held_out", rows)
        answers = con.execute(f"SELECT i, {call_of(group)} FROM held_out ORDER BY i").fetchall()
        con.raw.unregister("held_out")
        found += [(group.expected[i], is_right(group, str(a), group.expected[i])) for i, a in answers]
    return found


def share_right(found: Sequence[tuple[str, bool]]) -> float:
    """Right answers as a share of the rows."""
    return sum(right for _, right in found) / len(found)


def real_lines(name: str, found: Sequence[tuple[str, bool]]) -> list[list[Any]]:
    """The table's lines of one real table: all of its rows, and those of each label that it has."""
    sides = [(f"real {name} reviews", list(found))]
    for label in ("positive", "negative"):
        sides.append((f"real {name} reviews, {label}", [each for each in found if each[0] == label]))
    return [[side, len(rows), None, share_right(rows), None, None] for side, rows in sides if rows]


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows = 60 if args.quick else 600
    con = connect(model="tiny", progress=False)
    headline: dict[str, Any] = {}
    lines = []
    for task, bar in BARS.items():
        shares = [
            share_right(verdicts(con, heldout(task, num_rows, SEED, unseen))) for unseen in (False, True)
        ]
        headline[task], headline[f"{task}_unseen"] = (round(s, 3) for s in shares)
        lines.append([task, num_rows, bar, *shares, shares[0] - shares[1]])
    for name, load in (("amazon", amazon_sentiment), ("beer", beer_sentiment)):
        group = load(60 if args.quick else 500)
        if group is None:
            print(f"{name}: skipped, no data tables; set RELSERVE_DATA")
            continue
        found = verdicts(con, [group])
        headline[f"real_{name}"] = round(share_right(found), 3)
        lines += real_lines(name, found)
    con.close()
    columns = ["task", "rows", "bar", "seen phrasings", "unseen phrasings", "drop"]
    print(table(columns, lines))
    finish("tiny_accuracy", headline, {"columns": columns, "rows": lines}, args.quick)


if __name__ == "__main__":
    main()
