"""Macros whose functions are DuckDB's own, whatever anybody has defined.

A macro's text is looked up where it is called: a user's `list_contains` would take the place of DuckDB's in
PostgreSQL's catalog, for all. So would one named `||`, `list_value` or `array_extract`: DuckDB looks up
operators, `{..}`, `[..]` and `(a).b` as functions, too. Nobody can define anything in `system.main`.
"""

import json
import re
from functools import lru_cache
from typing import Any

import duckdb

OWN_SCHEMA = ("system", "main")
_HEAD = re.compile(r"\bCREATE MACRO [^\s(]++\([^()]*+\)\s++AS\s++(?P<table>TABLE\s++)?")
# Of lists and strings; what is looked up in a map is told by its type alone, and is written as a call.
_OPERATORS = {
    "ARRAY_EXTRACT": "array_extract", "ARRAY_SLICE": "array_slice", "STRUCT_EXTRACT": "struct_extract",
}  # fmt: skip
_CALL = {
    "class": "FUNCTION", "type": "FUNCTION", "filter": None, "distinct": False, "is_operator": False,
    "export_state": False, "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
}  # fmt: skip


def qualified(sql: str) -> str:
    """Statements with the whole names of DuckDB's functions in macros; what is none runs once, as it is."""
    with duckdb.connect() as con:
        return "".join(_statement(con, each.query) for each in con.extract_statements(sql))


def _statement(con: duckdb.DuckDBPyConnection, text: str) -> str:
    head = _HEAD.search(text)
    if head is None:
        return text
    body = text[head.end() :].rstrip(" ;\n")
    query = body if head["table"] else f"SELECT {body}"
    (told,) = con.execute("SELECT system.main.json_serialize_sql($1)", [query]).fetchall()[0]
    named = json.dumps(_named(json.loads(told)))
    (query,) = con.execute("SELECT system.main.json_deserialize_sql($1)", [named]).fetchall()[0]
    return f"{head[0]}{query if head['table'] else query.removeprefix('SELECT ')};\n"


def _named(node: Any) -> Any:
    """What DuckDB's parser made of a query, with whole names."""
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: _named(value) for key, value in node.items()}
    if (name := _OPERATORS.get(node.get("type", ""))) is not None:
        arguments = [{"name": "", "expression": each} for each in node.pop("children")]
        return {**node, **_CALL, **_path(name), "arguments": arguments}
    if node.get("class") in ("FUNCTION", "WINDOW"):
        path = node["qualified_name"]["path"]
        if len(path) == 1 and path[0].lower() in _functions():
            return {**node, **_path(path[0]), "is_operator": False}
    return node


def _path(name: str) -> dict[str, Any]:
    catalog, schema = OWN_SCHEMA
    path = [catalog, schema, name]
    return {"function_name": name, "schema": schema, "catalog": catalog, "qualified_name": {"path": path}}


@lru_cache(maxsize=1)
def _functions() -> frozenset[str]:
    """DuckDB's functions, of a database in which nobody has defined any."""
    with duckdb.connect() as con:
        rows = con.execute("SELECT DISTINCT function_name FROM system.main.duckdb_functions()").fetchall()
    return frozenset(name.lower() for (name,) in rows)
