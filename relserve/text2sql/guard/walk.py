"""Looks at every part of a SELECT, as DuckDB's own parser read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from relserve.errors import UnsafeSqlError
from relserve.text2sql.guard import nodes, sizes
from relserve.text2sql.guard.functions import DatabaseFunctions, Macro, built_in
from relserve.text2sql.guard.names import folded
from relserve.text2sql.guard.refused import CALLS_BY_NAME
from relserve.text2sql.guard.tables import CatalogTable, Path, Tables

Node = Mapping[str, Any]
Scope = frozenset[str]  # names of the WITH queries that can be seen


class TableRead(NamedTuple):
    """A name of a table or view of the catalog in a statement.

    Attributes:
        path: the name, after those of its database and schema where they are given.
        start: where it is written, in bytes of the statement; None where DuckDB does not tell.
        meant: what it can mean.
    """

    path: Path
    start: int | None
    meant: frozenset[CatalogTable]


MOST_PARTS = 5_000
DEEPEST = 100
LONGEST_NAME = 20  # names: DuckDB's time to find one grows with the cube


class Walk:
    """One statement's check.

    Args:
        tables: what may be read.
        functions: what may be called.
        parse: reads a macro's text as a tree.

    Attributes:
        reads: the names of tables that were met, in the text and in its macros.
    """

    def __init__(self, tables: Tables, functions: DatabaseFunctions, parse: Callable[[str], Node]) -> None:
        self._tables, self._functions, self._parse = tables, functions, parse
        self._num_parts, self._growth = 0, 1
        self._macros: set[Macro] = set()
        self._in_macro = False
        self.reads: list[TableRead] = []

    def check(self, tree: Any, scope: Scope = frozenset(), depth: int = 0) -> None:
        """Refuse what is not allowed, in a part of the tree and in all that is below it.

        Raises:
            UnsafeSqlError: says what is not allowed.
        """
        if isinstance(tree, list):
            for each in tree:
                self.check(each, scope, depth)
        elif isinstance(tree, dict):
            if isinstance(tree.get("type"), str):
                depth += 1
                self._count(depth)
                self._check_part(tree, scope, depth)
            else:
                self._check_all(tree.values(), scope, depth)

    def _check_all(self, parts: Iterable[Any], scope: Scope, depth: int) -> None:
        for each in parts:
            self.check(each, scope, depth)

    def _count(self, depth: int) -> None:
        self._num_parts += 1
        if depth > DEEPEST:
            raise UnsafeSqlError(f"generated SQL may be nested {DEEPEST} deep, and this is deeper")
        if self._num_parts > MOST_PARTS:
            raise UnsafeSqlError(f"generated SQL may have {MOST_PARTS:,} parts, and this has more")

    def _check_part(self, part: Node, scope: Scope, depth: int) -> None:
        kind = part["type"]
        if "class" in part:
            self._check_expression(part, scope, depth)
        elif kind not in nodes.PARTS:
            raise UnsafeSqlError(f"generated SQL may be a plain SELECT, and this holds {nodes.told(kind)}")
        elif kind == "TABLE_FUNCTION":
            self._check_table_function(part, scope, depth)
        elif "cte_map" in part:
            self._check_query(part, scope, depth)
        else:
            if kind == "BASE_TABLE":
                self._check_table(part, scope)
            elif kind == "PIVOT" and any("pivot_enum" in pivot for pivot in part.get("pivots", ())):
                raise UnsafeSqlError("PIVOT in generated SQL names its values: PIVOT .. ON x IN ('a', 'b')")
            self._check_all(part.values(), scope, depth)

    def _check_query(self, query: Node, scope: Scope, depth: int) -> None:
        """Its WITH queries see those before them; a recursive one sees itself right of its UNION."""
        for entry in query["cte_map"].get("map", ()):
            self.check(entry["value"], scope, depth)
            scope |= {folded(entry["key"])}
        for name, part in query.items():
            if name != "cte_map":
                is_again = query["type"] == "RECURSIVE_CTE_NODE" and name == "right"
                self.check(part, scope | {folded(query["cte_name"])} if is_again else scope, depth)

    def _check_table(self, table: Node, scope: Scope) -> None:
        path = table["qualified_name"]["path"]
        if table.get("at_clause"):
            raise UnsafeSqlError("generated SQL reads tables as they are now, and this has AT (..)")
        if len(path) > 1 or folded(path[0]) not in scope:
            start = None if self._in_macro else table.get("query_location")
            self.reads.append(TableRead(tuple(path), start, self._tables.check(path)))

    def _check_table_function(self, part: Node, scope: Scope, depth: int) -> None:
        function = part["function"]
        name = self._name(function)
        self._check_macros(self._functions.macros_called(name, is_table=True))
        self._check_all((value for key, value in part.items() if key != "function"), scope, depth)
        self._check_all(function.values(), scope, depth)

    def _check_expression(self, part: Node, scope: Scope, depth: int) -> None:
        group, kind = part["class"], part["type"]
        if group not in nodes.CLASSES or (group == "OPERATOR" and kind not in nodes.OPERATORS):
            raise UnsafeSqlError(
                f"generated SQL may not hold {nodes.told(kind if group in nodes.CLASSES else group)}"
            )
        if group in ("FUNCTION", "WINDOW"):
            self._check_call(part)
        elif group == "COLUMN_REF" and len(part["column_names"]) > LONGEST_NAME:
            raise UnsafeSqlError(f"generated SQL may join {LONGEST_NAME} names by dots, and this has more")
        elif group == "TYPE":
            _check_known("type", self._name(part), built_in().types)
        elif group == "COLLATE":
            for name in part["collation"].split("."):
                _check_known("collation", name, built_in().collations)
        self._check_all(part.values(), scope, depth)

    def _check_call(self, call: Node) -> None:
        name = self._name(call)
        if call.get("export_state"):
            raise UnsafeSqlError("generated SQL may not hold EXPORT_STATE")
        is_bare = len(call["qualified_name"]["path"]) == 1
        self._check_macros(self._functions.macros_called(name, is_table=False, is_bare=is_bare))
        arguments = [each["expression"] for each in call.get("arguments", ())]
        if folded(name) in CALLS_BY_NAME:
            self._functions.macros_called(_aggregate_named(name, arguments), is_table=False)
        self._growth *= sizes.growth(folded(name), arguments)
        if self._growth > sizes.MOST:
            raise UnsafeSqlError(
                f"{name}() and its like may make an answer {sizes.MOST:,} times larger than what it is made "
                "of, in all of a statement, and here it is more"
            )

    def _check_macros(self, macros: Iterable[Macro]) -> None:
        """Look at a macro as if its text stood there, where it sees none of the WITH queries around it."""
        for macro in macros:
            if macro not in self._macros:
                self._macros.add(macro)
                within, self._in_macro = self._in_macro, True
                self.check(
                    self._parse(macro.definition if macro.is_table else f"SELECT ({macro.definition})")
                )
                self._in_macro = within

    def _name(self, part: Node) -> str:
        return str(part["qualified_name"]["path"][-1])


def _aggregate_named(name: str, arguments: Sequence[Node]) -> str:
    literal = arguments[1].get("literal", {}) if len(arguments) > 1 else {}
    if literal.get("kind") != "STRING":
        raise UnsafeSqlError(
            f"{name}() in generated SQL names an aggregate that is written out, such as 'sum'"
        )
    return str(literal.get("text", ""))


def _check_known(what: str, name: str, known: frozenset[str]) -> None:
    if folded(name) not in known:
        raise UnsafeSqlError(f"{name!r} is no {what} of DuckDB's own, and generated SQL may use no other")
