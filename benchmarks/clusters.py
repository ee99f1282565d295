"""Whether clusters of the shipped tables are their columns of labels: the adjusted Rand index of each.

`vectors` is llm_cluster: k-means of the texts' vectors alone, with as many clusters as there are labels.
`topics` is llm_topics by the embedded model, which first says in a sentence what each row is about. `any k`
is the same where nobody says how many. 1 is the same division of the rows, 0 is chance. The index is over
rows that have a text and a label. Each call runs twice, the second time over the rows in another order and
without kept answers: `same` says whether all labels were the same.
"""

from __future__ import annotations

from typing import Any

import relserve
from benchmarks.claims import Higher
from benchmarks.common import arguments, finish, table
from benchmarks.provenance import ROOT
from relserve.api import Connection

ROOMS = ("relserve/session", "duckdb_ext/relserve_duckdb/udf")
HEADLINE = {"tickets": Higher(by=0.1), "tickets_any_k": Higher(by=0.1), "same_labels": Higher(by=0)}
LABELS = {
    "tickets": ("text", "kind"), "films": ("plot", "genre"), "products": ("description", "category"),
    "messages": ("message", "language"), "reviews": ("review", "stars"), "beers": ("review", "stars"),
}  # fmt: skip


def measure(con: Connection, name: str) -> list[Any]:
    """The table's line."""
    from sklearn.metrics import adjusted_rand_score

    text, label = LABELS[name]
    con.execute(
        f"CREATE OR REPLACE TABLE shown AS SELECT {text} AS t, {label}::VARCHAR AS label "
        f"FROM '{ROOT}/relserve/examples/{name}.csv' WHERE trim({text}) <> '' AND {label} IS NOT NULL"
    )
    con.execute("CREATE OR REPLACE TABLE mixed AS FROM shown ORDER BY hash(t)")
    rows, num_labels = con.execute("SELECT count(*), count(DISTINCT label) FROM shown").fetchall()[0]
    calls = {
        "vectors": f"llm_cluster('%s', t, k := {num_labels})",
        "topics": f"llm_topics('%s', t, k := {num_labels})",
        "any k": "llm_topics('%s', t)",
    }
    indices, all_same = [], True
    for call in calls.values():
        first, second = (
            con.execute(f"SELECT t, label, cluster FROM {call % place} ORDER BY ALL").fetchall()
            for place in ("shown", "mixed")
        )
        all_same = all_same and first == second
        indices.append(round(float(adjusted_rand_score(*zip(*(row[1:] for row in first), strict=True))), 2))
    return [name, label, rows, num_labels, *indices, all_same]


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    names = ["tickets"] if args.quick else list(LABELS)
    with relserve.connect(model="tiny", cache=False, progress=False) as con:
        rows = [measure(con, name) for name in names]
    relserve.close_engines()
    columns = ["table", "label", "rows", "labels", "vectors", "topics", "any k", "same"]
    print(table(columns, rows))
    headline = {
        "tickets": rows[0][5], "tickets_any_k": rows[0][6], "same_labels": int(all(row[7] for row in rows))
    }  # fmt: skip
    finish("clusters", headline, [dict(zip(columns, row, strict=True)) for row in rows], args.quick)


if __name__ == "__main__":
    main()
