"""What DuckDB's plan tells about a statement with llm calls."""

from __future__ import annotations

import json
from typing import Any

from relserve.options import FUNCTIONS

# operators that read all of their input before they give a row
_BLOCKING = ("ORDER_BY", "TOP_N", "HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "UNGROUPED_AGGREGATE", "WINDOW")
_MARKS = tuple(f"__{function}_" for function in FUNCTIONS)


def stops_early(plan: str) -> bool:
    """Whether a LIMIT may end the statement before an llm filter has seen all rows.

    Then asking chunk by chunk is cheaper than asking all rows at once.

    Args:
        plan: what EXPLAIN (FORMAT JSON) says.
    """
    return any(_find_limit(node) for node in json.loads(plan))


def _find_limit(node: dict[str, Any]) -> bool:
    if "LIMIT" in node["name"]:
        return any(_filters_by_llm(child) for child in node["children"])
    return any(_find_limit(child) for child in node["children"])


def _filters_by_llm(node: dict[str, Any]) -> bool:
    """Whether rows stream from an llm filter to the LIMIT above."""
    if node["name"] in _BLOCKING:
        return any(_find_limit(child) for child in node["children"])
    if node["name"] != "PROJECTION" and any(mark in json.dumps(node["extra_info"]) for mark in _MARKS):
        return True
    return any(_filters_by_llm(child) for child in node["children"])
