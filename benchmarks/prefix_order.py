"""Prefix share: tokens computed with our order of rows and fields against the order of the table.

The paper's templates over the three real tables, and each table's whole rows in one placeholder, where the
order of fields is free. Counted by the engine; its KV cache holds 12,000 tokens, so that a prefix is there
only while it is in use or was lately. Each is run from an empty prefix cache.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.relquery_workload import COLUMNS, KINDS, TABLES, rows_of
from relserve.call.options import Options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.session.session import Session
from relserve.tiny import MODEL_DIR

ROOMS = ("relserve/session", "relserve/call", "relserve/engines/local")
HEADLINE = {
    "rows": Untold("a size"), "templates": Untold("a size"), "answers_that_differ": Exact(0),
    "worst": Higher(0.03), "best": Higher(0.1), "all": Higher(0.03),
}  # fmt: skip

KV_TOKENS, BLOCK = 12_000, 32
MAX_CHARS = 500  # of a value: the embedded model's context is short
WHOLE = "Is this a good one? {}"
ORDERS = ("table", "rows", "rows and fields")


def computed(engine: Any, relquery: RelQuery, sorts: bool) -> tuple[int, list[Any]]:
    """Prompt tokens that the engine computed, and the answers."""
    spawn(engine.reset_prefix_cache()).result()
    session = Session(lambda _: engine, sorts=sorts)
    values = session.run(relquery).values
    usage = session.history.queries()[0].usage
    return usage.prompt_tokens - usage.cached_tokens, values


def relqueries(name: str, rows: Sequence[dict[str, str]]) -> dict[str, tuple[str, str, list[list[Any]]]]:
    """Function, template and rows by the template's name."""
    templates = json.loads((data_folder() / "relquery_templates.json").read_text(encoding="utf-8"))[
        "templates"
    ]
    found = {}
    short = [{column: value[:MAX_CHARS] for column, value in row.items()} for row in rows]
    for kind in KINDS:
        names = list(dict.fromkeys(Template.parse(templates[name][kind]).names))
        columns = [COLUMNS.get(n, n) if name == "amazon" else n for n in names]
        values = [[row[column] for column in columns] for row in short]
        found[kind] = ("llm_filter", templates[name][kind], values)
    keep = list(short[0])[:6]
    whole = [[{column: row[column][:200] for column in keep}] for row in short]
    return found | {"whole row": ("llm_filter", WHOLE, whole)}


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows = 60 if args.quick else 400
    blocks = {"num_gpu_blocks_override": KV_TOKENS // BLOCK}
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args=blocks)
    lines, different = [], 0
    for name in TABLES[:1] if args.quick else TABLES:
        for kind, (function, text, rows) in relqueries(name, rows_of(name)[:num_rows]).items():
            template = Template.parse(text)
            binding = template.bind(len(rows[0]))
            whole = kind == "whole row"
            given_order = RelQuery(function, binding, rows)
            before, plain = computed(engine, given_order, sorts=False)
            after, sorted_ = computed(engine, given_order, sorts=True)
            different += plain != sorted_
            free = before
            if whole:
                free, _ = computed(
                    engine, RelQuery(function, binding, rows, Options(field_order="free")), True
                )
            both = free if whole else after
            lines.append([name, kind, before, after, both, before / after, before / both])
    spawn(engine.close()).result()
    columns = ["table", "template", *(f"computed: {order}" for order in ORDERS), "rows", "rows and fields"]
    print(table(columns, lines))
    headline = {
        "rows": num_rows, "templates": len(lines), "answers_that_differ": different,
        "worst": round(min(line[-1] for line in lines), 3), "best": round(max(line[-1] for line in lines), 3),
        "all": round(sum(line[2] for line in lines) / sum(line[4] for line in lines), 3),
    }  # fmt: skip
    finish("prefix_order", headline, {"columns": columns, "rows": lines}, args.quick)


if __name__ == "__main__":
    main()
