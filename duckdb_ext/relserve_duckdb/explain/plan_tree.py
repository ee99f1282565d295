"""DuckDB's plan as text that fits the screen, with the llm calls as users write them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from relserve_duckdb.explain.user_calls import with_user_calls
from relserve_duckdb.text.plans import Node, read_plans

MIN_TEXT = 24  # characters of a line beside the lines of the tree, however deep it is
_ROWS = "Estimated Cardinality"


def plan_tree(plan: str, width: int) -> str:
    """A plan, an operator under the one that reads its rows; several inputs are indented.

    Args:
        plan: what EXPLAIN (FORMAT JSON) says.
        width: characters of a line.
    """
    return "\n".join(
        "".join(f"{line}\n" for root in roots for line in _operator(root, width))
        for roots in read_plans(plan)
    )


def _operator(node: Node, width: int) -> Iterator[str]:
    """The lines of an operator and of all below it."""
    info, inputs = node["extra_info"], node["children"]
    rows = str(info.get(_ROWS, ""))
    told = f"  ~{int(rows):,} row{'' if rows == '1' else 's'}" if rows.isdigit() else ""
    yield node["name"].strip().replace("_", " ").title() + told
    for key, value in info.items():
        if key != _ROWS and value not in ("", []):
            yield from _detail(key, value, "│ " if inputs else "  ", width)
    if len(inputs) == 1:
        yield from _operator(inputs[0], width)
        return
    for each in inputs:
        first, others = ("└─ ", "   ") if each is inputs[-1] else ("├─ ", "│  ")
        for i, line in enumerate(_operator(each, width - len(first))):
            yield (others if i else first) + line


def _detail(key: str, value: object, margin: str, width: int) -> list[str]:
    values = value if isinstance(value, list) else [value]
    text = f"{key}: {', '.join(with_user_calls(str(each)) for each in values)}"
    room = max(MIN_TEXT, width - len(margin))
    lines = textwrap.wrap(text, room, subsequent_indent="  ", break_on_hyphens=False)
    return [margin + line for line in lines]
