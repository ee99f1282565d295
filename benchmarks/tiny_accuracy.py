"""Accuracy of the embedded model, through SQL: held-out generated rows with instructions of training and with
instructions never seen in it, and sentiment of real reviews (no bar, the honest figure).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from benchmarks.beer import quoted
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect
from relserve.tiny.corpus.heldout import EvalGroup, heldout
from relserve.tiny.evaluate import is_right
from relserve.tiny.real_rows import amazon_sentiment, beer_sentiment

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


def score(con: Connection, groups: Sequence[EvalGroup]) -> tuple[int, int]:
    """Right answers and rows; a rating counts as right within one step of five."""
    right = total = 0
    for group in groups:
        rows = pa.table({"i": range(len(group.expected)), group.column: group.columns[group.column]})
        con.raw.register("held_out", rows)
        answers = con.execute(f"SELECT i, {call_of(group)} FROM held_out ORDER BY i").fetchall()
        con.raw.unregister("held_out")
        right += sum(is_right(group, str(a), group.expected[i]) for i, a in answers)
        total += len(answers)
    return right, total


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows = 60 if args.quick else 600
    con = connect(model="tiny", progress=False)
    headline: dict[str, Any] = {}
    lines = []
    for task, bar in BARS.items():
        shares = []
        for unseen in (False, True):
            right, total = score(con, heldout(task, num_rows, SEED, unseen))
            shares.append(right / total)
        headline[task], headline[f"{task}_unseen"] = (round(s, 3) for s in shares)
        lines.append([task, num_rows, bar, *shares, shares[0] - shares[1]])
    print(table(["task", "rows", "bar", "seen phrasings", "unseen phrasings", "drop"], lines))
    for name, load in (("amazon", amazon_sentiment), ("beer", beer_sentiment)):
        group = load(60 if args.quick else 500)
        if group is None:
            print(f"{name}: skipped, no data tables; set RELSERVE_DATA")
            continue
        right, total = score(con, [group])
        positives = sum(e == "positive" for e in group.expected)
        headline[f"real_{name}"] = round(right / total, 3)
        print(f"real {name} reviews: {right} of {total} right ({positives} of them positive)")
    con.close()
    finish("tiny_accuracy", headline, lines, args.quick)


if __name__ == "__main__":
    main()
