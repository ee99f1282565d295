"""What a statement needs rights for, by what DuckDB's parser made of it.

Names are as they stand in the statement; `judge` finds what they mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relserve.linking.schema import quoted
from relserve.server.users.refused import CATALOG
from relserve.server.users.tree import parser
from relserve.text2sql.guard.names import folded

Path = tuple[str, ...]  # catalog, schema and name, or the last of these
_ASKED = "SELECT system.main.json_serialize_sql($1)"
_WRITES = {"INSERT_QUERY_NODE": "INSERT", "UPDATE_QUERY_NODE": "UPDATE", "DELETE_QUERY_NODE": "DELETE"}
# table functions that take a table's bare name, and those that take any expression that gives one
_NAMED = frozenset(["histogram", "histogram_values", "pragma_storage_info"])
BY_TEXT = frozenset(["query_table", "duckdb_table_sample", *_NAMED])
COUNTS = "duckdb_tables"  # its estimated_size is the number of a table's rows
_COUNTING = frozenset([COUNTS, "pg_class"])  # views of DuckDB's own over it
_PART = re.compile(r'"((?:[^"]++|"")*+)"|([^."]++)')


@dataclass
class StatementNeeds:
    """What a statement reads, changes and calls.

    Attributes:
        tables: a privilege and the name of what it is on.
        calls: functions by the last part of their names; operators, too.
        loose: names that may be those of tables, in any schema, where DuckDB tells no more.
        also: privileges on these beside SELECT.
        is_hidden: a table is named by what is only known when the statement runs.
    """

    tables: list[tuple[str, Path]] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    also: list[str] = field(default_factory=list)
    is_hidden: bool = False


def needs_of(query: str, writes: bool = False, in_macro: bool = False) -> StatementNeeds | None:
    """What a query needs; None: DuckDB does not tell.

    Args:
        query: one, without a semicolon at its end.
        writes: whether it is INSERT, UPDATE, DELETE, TRUNCATE or COPY .. TO.
        in_macro: whether what looks like a column may be a parameter.
    """
    if writes:
        query = f"WITH _ AS (\n{query}\n) SELECT 1"
    told = json.loads(parser().execute(_ASKED, [query]).fetchall()[0][0])
    if told["error"]:
        return None
    found = StatementNeeds()
    for statement in told["statements"]:
        _Walk(found, in_macro).into(statement, frozenset())
    return found


class _Walk:
    """Goes through a tree; the names of WITH that are in sight go with it."""

    def __init__(self, found: StatementNeeds, in_macro: bool) -> None:
        self._found, self._in_macro = found, in_macro

    def into(self, node: Any, seen: frozenset[str]) -> None:
        if isinstance(node, list):
            for each in node:
                self.into(each, seen)
        elif isinstance(node, dict):
            self._take(node, self._with_names(node, seen))

    def _with_names(self, node: Mapping[str, Any], seen: frozenset[str]) -> frozenset[str]:
        """The names in sight behind a node's own WITH; one sees those before it alone."""
        for each in (node.get("cte_map") or {}).get("map", ()):
            self.into(each["value"], seen)
            seen |= {folded(each["key"])}
        return seen

    def _take(self, node: Mapping[str, Any], seen: frozenset[str]) -> None:
        kind = node.get("type")
        kind = kind if isinstance(kind, str) else None  # of a value, as that of USING SAMPLE, it is a tree
        skipped = {"cte_map"}
        if kind == "BASE_TABLE":
            self._read(_path(node), seen)
        elif kind in _WRITES:
            skipped |= self._written(str(kind), node)
        elif kind == "COPY_QUERY_NODE":
            info = node["info"]
            if info.get("table"):
                self._read(_path(info))
        elif kind == "TABLE_FUNCTION":
            self._call_of_table(node["function"])
        elif kind == "RECURSIVE_CTE_NODE":
            self.into(node["left"], seen)
            seen |= {folded(node["cte_name"])}
            skipped |= {"left"}
        if name := node.get("function_name"):
            self._found.calls.add(folded(_path(node)[-1] or name))
        for key, value in node.items():
            if key not in skipped:
                self.into(value, seen)

    def _read(self, path: Path, seen: frozenset[str] = frozenset()) -> None:
        if len(path) > 1 or folded(path[0]) not in seen:
            self._found.tables.append(("SELECT", path))
            if folded(path[-1]) in _COUNTING and path[0] != CATALOG:
                self._found.calls.add(COUNTS)

    def _written(self, kind: str, node: Mapping[str, Any]) -> set[str]:
        """Needs of the table that is changed; gives what of the node is no table that is read."""
        own = node.get("table_ref") if kind == "INSERT_QUERY_NODE" else node["table"]
        path = _path(node if kind == "INSERT_QUERY_NODE" else node["table"])
        privileges = [_WRITES[kind]]
        conflict = node.get("on_conflict_info") or {}
        if conflict.get("action_type") in ("UPDATE", "REPLACE"):
            privileges.append("UPDATE")
        names = {folded(path[-1]), folded((own or {}).get("alias") or path[-1]), "excluded"}
        reads = (node.get("set_info"), node.get("condition"), conflict)
        if node.get("returning_list") or conflict.get("indexed_columns") or _reads_own(reads, names):
            privileges.append("SELECT")
        self._found.tables += [(privilege, path) for privilege in privileges]
        return {"table_ref", "table"}

    def _call_of_table(self, call: Mapping[str, Any]) -> None:
        name = folded(_path(call)[-1] or call.get("function_name") or "")
        if name in BY_TEXT:
            for text in _texts(call.get("arguments") or [], name in _NAMED and not self._in_macro):
                path = parts_of(text or "")
                self._found.is_hidden |= not path
                if path:
                    self._read(path)


def _path(node: Mapping[str, Any]) -> Path:
    """A name in its parts."""
    told = (node.get("qualified_name") or {}).get("path")
    parts = told or [node.get(key) for key in ("catalog_name", "schema_name", "table_name")]
    return tuple(part for part in parts if part) or ("",)


def _reads_own(tree: Any, names: set[str]) -> bool:
    """Whether an expression may read a column of the table that is changed."""
    if isinstance(tree, (list, tuple)):
        return any(_reads_own(each, names) for each in tree)
    if not isinstance(tree, dict):
        return False
    if tree.get("class") == "STAR":
        return True
    if tree.get("class") == "COLUMN_REF":
        column = tree["column_names"]
        return len(column) == 1 or folded(column[0]) in names or folded(column[-2]) in names
    return any(_reads_own(each, names) for each in tree.values())


def _texts(arguments: Sequence[Any], may_be_bare: bool) -> Iterator[str | None]:
    """The first argument's texts, or those of its list; None: it is no constant."""
    if not arguments:
        return
    first = arguments[0]["expression"]
    if first.get("class") == "FUNCTION" and first.get("function_name") == "list_value":
        for each in first["arguments"]:
            yield from _texts([each], False)
    elif first.get("class") == "CONSTANT":
        literal = first.get("literal") or {}
        yield literal.get("text") if literal.get("kind") == "STRING" else None
    elif first.get("class") == "COLUMN_REF" and may_be_bare:
        yield ".".join(map(quoted, first["column_names"]))
    else:
        yield None


def parts_of(text: str) -> Path:
    """A table's name in a text, in its parts; none of them: it is no name."""
    found = [*_PART.finditer(text)]
    if ".".join(each[0] for each in found) != text:
        return ()
    return tuple(each[2] or each[1].replace('""', '"') for each in found)
