"""What DuckDB's plan tells about a statement with llm calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from relserve_duckdb.text.call_limits import CALLED

# operators that read all of their input before they give a row
_BLOCKING = ("ORDER_BY", "TOP_N", "HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "UNGROUPED_AGGREGATE", "WINDOW")
CALL = re.compile(rf"__({'|'.join(CALLED)})_\d+\(")
BOUND_PLAN = "SELECT system.main.json_serialize_plan($1)"  # of a SELECT without parameters
_IS_BOUND = '{"error":false'
_BOUND_CALL = re.compile(rf'"__({"|".join(CALLED)})_\d+"')
_DROPPING = ("PROJECTION", "FILTER", "HASH_JOIN", "NESTED_LOOP_JOIN", "CROSS_PRODUCT")

Node = dict[str, Any]


def read_plans(text: str) -> list[list[Node]]:
    """The plans that EXPLAIN (FORMAT JSON) gives: one, or with `explain_output` 'all' one after another."""
    plans, rest = [], text.strip()
    while rest:
        plan, end = json.JSONDecoder().raw_decode(rest)
        plans.append(plan)
        rest = rest[end:].lstrip()
    return plans


def may_call(bound: str) -> bool:
    """Whether a SELECT may make llm calls: no, if DuckDB's bound plan is there and holds none.

    EXPLAIN would not do: it shows an item of a SELECT list by its alias.

    Args:
        bound: what BOUND_PLAN gives.
    """
    return not bound.startswith(_IS_BOUND) or _BOUND_CALL.search(bound) is not None


def stops_early(plan: str) -> bool:
    """Whether a LIMIT may end the statement before an llm filter has seen all rows.

    Then asking chunk by chunk is cheaper than asking all rows at once.

    Args:
        plan: what EXPLAIN (FORMAT JSON) says.
    """
    return any(_find_limit(node) for node in read_plans(plan)[-1])


def _find_limit(node: dict[str, Any]) -> bool:
    if "LIMIT" in node["name"]:
        return any(_filters_by_llm(child) for child in node["children"])
    return any(_find_limit(child) for child in node["children"])


def _filters_by_llm(node: dict[str, Any]) -> bool:
    """Whether rows stream from an llm filter to the LIMIT above."""
    if node["name"] in _BLOCKING:
        return any(_find_limit(child) for child in node["children"])
    # by the UDFs' names: table macros name their CTEs __llm_..
    if node["name"] != "PROJECTION" and CALL.search(json.dumps(node["extra_info"])):
        return True
    return any(_filters_by_llm(child) for child in node["children"])


def filters_together(plan: str, num_filters: int, limited: bool) -> bool:
    """Whether so many llm calls, and no others, filter rows, and each chunk of rows meets all in turn.

    Args:
        plan: what EXPLAIN (FORMAT JSON) says.
        num_filters: how many llm calls the WHERE has.
        limited: whether, besides, nothing between them and a LIMIT above may do more than drop rows or copy
            them, whatever the number of rows that come.
    """
    nodes = [found for root in read_plans(plan)[-1] for found in _walk(root, ())]
    filtering = [(node, path) for node, path in nodes if _num_calls(node) and _name(node) != "PROJECTION"]
    if not filtering or sum(_num_calls(node) for node, _ in filtering) != num_filters:
        return False
    lowest, path = max(filtering, key=lambda found: len(found[1]))
    if any(not _is_filter(node) or node not in (*path, lowest) for node, _ in filtering):
        return False
    if any(map(_num_calls, (node for node, above in nodes if lowest in above))):
        return False
    top = min(len(above) for _, above in filtering)
    if not all(_name(node) in ("FILTER", "PROJECTION") for node in path[top:]):
        return False
    limits = [i for i, node in enumerate(path) if "LIMIT" in node["name"]]
    return not limited or (bool(limits) and all(map(_only_drops, path[limits[-1] + 1 :])))


def _walk(node: Node, path: tuple[Node, ...]) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Every operator, with those above it from the root."""
    yield node, path
    for child in node["children"]:
        yield from _walk(child, (*path, node))


def _num_calls(node: Node) -> int:
    """How many llm calls an operator evaluates; a scan's optional filters only skip whole blocks of rows."""
    infos = [info if type(info) is list else [info] for info in node["extra_info"].values()]
    texts = [str(text) for info in infos for text in info]
    return sum(len(CALL.findall(text)) for text in texts if not text.startswith("optional: "))


def _only_drops(node: Node) -> bool:
    """Whether an operator gives, for some of its rows, some of what it gives for all."""
    kind = node["extra_info"].get("Join Type", "INNER")
    return _name(node) in _DROPPING and kind == "INNER"


def _is_filter(node: Node) -> bool:
    return _name(node) == "FILTER" or _name(node).endswith("SCAN")


def _name(node: Node) -> str:
    return str(node["name"]).strip()
