"""Whether an expression has a value that is written out: EXPLAIN computes it, and so may have no effect."""

from __future__ import annotations

import json
from typing import Any

import duckdb

_TREE = "SELECT system.main.json_serialize_sql(?::VARCHAR, skip_null := true, skip_default := true)"
_CLASSES = frozenset(["CONSTANT", "PARAMETER", "CAST", "TYPE"])
# Operators, lists, structs, and what DuckDB's parser makes of INTERVAL 1 MINUTE.
_FUNCTIONS = frozenset(
    "|| + - * / list_value struct_pack trunc to_years to_months to_weeks to_days to_hours to_minutes "
    "to_seconds to_milliseconds to_microseconds".split()
)


def is_constant(con: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether an expression is made of constants, parameters and casts, lists and sums of them alone."""
    ((answer,),) = con.execute(_TREE, [f"SELECT {text}"]).fetchall()
    tree = json.loads(answer)
    if tree["error"] or len(tree["statements"]) != 1:
        return False
    node = tree["statements"][0]["node"]
    is_plain = node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EMPTY"
    return is_plain and len(node["select_list"]) == 1 and _is_constant(node["select_list"][0])


def _is_constant(part: Any) -> bool:
    if isinstance(part, list):
        return all(map(_is_constant, part))
    if not isinstance(part, dict):
        return True
    group = part.get("class")
    if group == "FUNCTION":
        is_known = part["qualified_name"]["path"][-1] in _FUNCTIONS
        return is_known and _is_constant(part["arguments"])
    return (group is None or group in _CLASSES) and all(map(_is_constant, part.values()))
