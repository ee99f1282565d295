"""PostgreSQL's functions, those over its catalog before all."""

from collections.abc import Iterable

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.build import DATABASE
from relserve.server.catalog.qualified import OWN_SCHEMA

_SCHEMAS = ("pg_catalog", "information_schema")
_DUCKDBS = {
    "json_build_object": "json_object",
    "json_build_array": "json_array",
    "jsonb_build_object": "json_object",
}


def own_function(name: str, *arguments: exp.Expr, schema: str = "cat") -> exp.Expression:
    """A call of a function in `_pg`."""
    return _call_of((DATABASE, schema), name, arguments)


def duckdbs_function(name: str, *arguments: exp.Expr) -> exp.Expression:
    """A call of a function of DuckDB's, whatever anybody has defined by its name."""
    return _call_of(OWN_SCHEMA, name, arguments)


def _call_of(path: Iterable[str], name: str, arguments: Iterable[exp.Expr]) -> exp.Expression:
    parts = map(exp.to_identifier, path)
    return exp.Dot.build([*parts, exp.Anonymous(this=name, expressions=list(arguments))])


def drop_schemas(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """pg_catalog.f(x) becomes f(x)."""
    for node in list(tree.find_all(exp.Dot)):
        if isinstance(node.expression, exp.Func) and node.this.name.lower() in _SCHEMAS:
            node.replace(node.expression)
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func) and table.db.lower() in _SCHEMAS:
            table.set("db", None)
    return tree


def call_the_catalogs(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A function that `_pg` has is called there; one that DuckDB has under another name, by that."""
    for version in list(tree.find_all(exp.CurrentVersion)):
        version.replace(own_function("version"))
    for call in list(tree.find_all(exp.Anonymous)):
        name = call.name.lower()
        if name in _DUCKDBS:
            call.set("this", _DUCKDBS[name])
        elif name in asked.names.functions:
            _call(call)
    return tree


def _call(node: exp.Anonymous) -> None:
    if isinstance(node.parent, exp.Table):
        node.parent.set("db", exp.to_identifier("cat"))
        node.parent.set("catalog", exp.to_identifier(DATABASE))
    elif not isinstance(node.parent, exp.Dot) or node.parent.this is node:
        node.replace(own_function(node.name.lower(), *node.expressions))
