"""OPERATOR(pg_catalog.~) and COLLATE pg_catalog.default, as psql writes them."""

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext

_BY_SIGN: dict[str, Callable[[exp.Expression, exp.Expression], exp.Expression]] = {
    "~": lambda a, b: exp.RegexpLike(this=a, expression=b),
    "!~": lambda a, b: exp.Not(this=exp.RegexpLike(this=a, expression=b)),
    "~*": lambda a, b: exp.RegexpILike(this=a, expression=b),
    "!~*": lambda a, b: exp.Not(this=exp.RegexpILike(this=a, expression=b)),
    "~~": lambda a, b: exp.Like(this=a, expression=b),
    "!~~": lambda a, b: exp.Not(this=exp.Like(this=a, expression=b)),
    "~~*": lambda a, b: exp.ILike(this=a, expression=b),
    "=": lambda a, b: exp.EQ(this=a, expression=b),
    "<>": lambda a, b: exp.NEQ(this=a, expression=b),
    "<": lambda a, b: exp.LT(this=a, expression=b),
    "<=": lambda a, b: exp.LTE(this=a, expression=b),
    ">": lambda a, b: exp.GT(this=a, expression=b),
    ">=": lambda a, b: exp.GTE(this=a, expression=b),
    "||": lambda a, b: exp.DPipe(this=a, expression=b),
    "+": lambda a, b: exp.Add(this=a, expression=b),
    "-": lambda a, b: exp.Sub(this=a, expression=b),
    "*": lambda a, b: exp.Mul(this=a, expression=b),
}
_PLAIN = {"default", "c", "posix", "ucs_basic"}


def plain_operators(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """An operator by its full name becomes the operator."""
    for node in list(tree.find_all(exp.Operator)):
        sign = str(node.args["operator"]).removeprefix("pg_catalog.")
        if sign in _BY_SIGN:
            tree = _put(tree, node, _BY_SIGN[sign](node.this, node.expression))
    return tree


def drop_collations(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """PostgreSQL's collations by bytes are how DuckDB compares anyway."""
    for node in list(tree.find_all(exp.Collate)):
        if node.expression.name.lower() in _PLAIN:
            tree = _put(tree, node, node.this)
    return tree


def escape_by_backslash(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A backslash takes the meaning from % and _, as JDBC writes names; DuckDB wants to be told so."""
    for node in list(tree.find_all(exp.Like, exp.ILike)):
        if not isinstance(node.parent, exp.Escape):
            tree = _put(tree, node, exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))
    return tree


def _put(tree: exp.Expression, node: exp.Expr, other: exp.Expr) -> exp.Expression:
    if node is tree:
        return cast(exp.Expression, other)
    node.replace(other)
    return tree
