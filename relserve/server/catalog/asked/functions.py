"""PostgreSQL's functions, those over its catalog before all."""

from sqlglot import exp

from relserve.server.catalog.asked.asked import Asked
from relserve.server.catalog.build import DATABASE

_SCHEMAS = ("pg_catalog", "information_schema")
_DUCKDBS = {
    "json_build_object": "json_object",
    "json_build_array": "json_array",
    "jsonb_build_object": "json_object",
}


def own_function(name: str, *arguments: exp.Expr, schema: str = "cat") -> exp.Expression:
    """A call of a function in `_pg`."""
    parts = (exp.to_identifier(DATABASE), exp.to_identifier(schema))
    return exp.Dot.build([*parts, exp.Anonymous(this=name, expressions=list(arguments))])


def drop_schemas(tree: exp.Expression, asked: Asked) -> exp.Expression:
    """pg_catalog.f(x) becomes f(x)."""
    for node in list(tree.find_all(exp.Dot)):
        if isinstance(node.expression, exp.Func) and node.this.name.lower() in _SCHEMAS:
            node.replace(node.expression)
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func) and table.db.lower() in _SCHEMAS:
            table.set("db", None)
    return tree


def call_the_catalogs(tree: exp.Expression, asked: Asked) -> exp.Expression:
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
