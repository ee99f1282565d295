"""What the result's columns are called, and how PostgreSQL's vectors look in them."""

import re

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext

_VECTORS = frozenset({"indkey", "indclass", "indcollation", "indoption", "proargtypes"})
_CALL = re.compile(r'(?:\w+\.)?"?(\w+)"?\(')


def fold_aliases(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A name that stands without quotes is in small letters, as PostgreSQL's clients look it up."""
    for alias in tree.find_all(exp.Alias, exp.TableAlias):
        named = [alias.args.get("alias") if isinstance(alias, exp.Alias) else alias.this]
        for name in [*named, *(alias.args.get("columns") or [])]:
            if isinstance(name, exp.Identifier) and not name.quoted:
                name.set("this", name.name.lower())
    return tree


def name_columns(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A column of the result that the text gives no name is called what PostgreSQL calls it."""
    for item in list(_shown(tree)):
        if not isinstance(item, (exp.Alias, exp.Column, exp.Star)):
            item.replace(exp.alias_(item.copy(), _name(item), quoted=True))
    return tree


def write_vectors(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A vector is shown as numbers with spaces between them."""
    for item in list(_shown(tree)):
        column = item.unalias()
        if isinstance(column, exp.Column) and column.name.lower() in _VECTORS:
            text = exp.Anonymous(this="array_to_string", expressions=[column.copy(), exp.Literal.string(" ")])
            item.replace(exp.alias_(text, item.alias_or_name, quoted=True))
    return tree


def _shown(tree: exp.Expression) -> list[exp.Expression]:
    """The columns of the result, where the text lists them; those of the first of several queries name it."""
    while isinstance(tree, (exp.SetOperation, exp.Subquery, exp.Paren)):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Select) else []


def _name(item: exp.Expr) -> str:
    """PostgreSQL's name for an expression, after its FigureColname."""
    if isinstance(item, (exp.Paren, exp.Subquery, exp.Collate, exp.Bracket)):
        return _name(item.this)
    if isinstance(item, exp.Select):
        return _name(item.expressions[0])
    if isinstance(item, (exp.Alias, exp.Column)):
        return item.alias_or_name
    if isinstance(item, exp.Cast):
        inner = item.this
        while isinstance(inner, (exp.Cast, exp.Paren)):
            inner = inner.this
        name = _name(inner)
        return name if name not in ("?column?", "case") else _type_name(item.args["to"])
    if isinstance(item, exp.Case):
        default = _name(item.args["default"]) if item.args.get("default") else "?column?"
        return "case" if default in ("?column?", "case") else default
    if isinstance(item, (exp.Exists, exp.Array, exp.Coalesce)):
        return item.key
    if isinstance(item, exp.Dot):
        return _name(item.expression) if isinstance(item.expression, exp.Func) else item.name
    return (
        _call_name(item) if isinstance(item, exp.Func) and not isinstance(item, exp.Connector) else "?column?"
    )


def _call_name(item: exp.Expr) -> str:
    written = item.sql("postgres", normalize_functions=False)
    call = _CALL.match(written)
    return (call[1] if call else written if written.isidentifier() else "?column?").lower()


def _type_name(kind: exp.Expression) -> str:
    name = re.sub(r"\(.*|\[.*", "", kind.sql("postgres").lower()).split(".")[-1].strip('"')
    known = {
        "int": "int4",
        "bigint": "int8",
        "smallint": "int2",
        "boolean": "bool",
        "double precision": "float8",
    }
    return known.get(name, name)
