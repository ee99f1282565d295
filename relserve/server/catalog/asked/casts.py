"""Casts to PostgreSQL's types that DuckDB has not."""

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.functions import own_function

_LOOKED_UP = {name: name for name in ("regclass", "regtype", "regnamespace", "regproc")} | {
    "regprocedure": "regproc"
}
_TEXTS = frozenset(
    'name "char" char bpchar cstring citext pg_node_tree aclitem unknown regrole regconfig regdictionary '
    "regoper regoperator xid8 pg_lsn sql_identifier character_data yes_or_no".split()
)
_NUMBERS = {"oid": "BIGINT", "xid": "BIGINT", "cid": "BIGINT", "cardinal_number": "INTEGER"}
_VECTORS = {"int2vector": "SMALLINT[]", "oidvector": "BIGINT[]"}
_PLAIN = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "jsonb": "JSON",
}
_DUCKDBS = {**_NUMBERS, **_VECTORS, **_PLAIN}
_FUNCTIONS = {
    f"typ{use}" for use in ("input", "output", "receive", "send", "modin", "modout", "analyze", "subscript")
}


def look_up_names(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """'t'::regclass is the oid of t, or its name where it is shown, cast to text, or joined to a text."""
    # what is compared with a pg_typeof() sees its name
    for node in sorted(tree.find_all(exp.Cast), key=lambda node: not _is_typeof(node.this)):
        kind = _LOOKED_UP.get(_word(node.to))
        if kind is not None:
            wants_name = _wants_name(node, tree)
            if wants_name and kind == "regtype" and _is_typeof(node.this):
                node.replace(node.this)  # it is the name; in a macro's text DuckDB would plan it for seconds
            else:
                node.replace(own_function(kind + "_name" if wants_name else kind, node.this, schema="own"))
    return tree


def compare_functions(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """typinput holds a function's name: none is '-', and an oid to compare it with asks for its oid."""
    for node in list(tree.find_all(exp.EQ, exp.NEQ)):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if _is_function(side) and other.is_int:
                other.replace(exp.Literal.string("-"))
            elif _is_function(side) and isinstance(other, exp.Column) and not _is_function(other):
                side.replace(own_function("regproc", side.copy(), schema="own"))
    return tree


def cast_to_duckdbs_types(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A type of PostgreSQL's catalog becomes DuckDB's; a function's oid is looked up by its name."""
    for node in list(tree.find_all(exp.Cast)):
        word = _word(node.to)
        base = word.removesuffix("[]")
        brackets = word[len(base) :]
        if base in _TEXTS:
            node.set("to", exp.DataType.build("VARCHAR" + brackets, dialect="duckdb"))
        elif base in _DUCKDBS:
            if base == "oid" and not brackets and _is_function(node.this):
                node.replace(own_function("regproc", node.this, schema="own"))
            else:
                node.set("to", exp.DataType.build(_DUCKDBS[base] + brackets, dialect="duckdb"))
        elif "pg_catalog." in node.to.sql("postgres").lower().replace('"', ""):
            node.set("to", exp.DataType.build(word, dialect="postgres"))
    return tree


def _word(kind: exp.Expression) -> str:
    """The name of a type as written, without its schema, in small letters."""
    word = kind.sql("postgres").lower()
    for schema in ("pg_catalog", "information_schema"):
        word = word.removeprefix(f"{schema}.").removeprefix(f'"{schema}".')
    return word if word == '"char"' else word.replace('"', "")


def _wants_name(node: exp.Cast, tree: exp.Expression) -> bool:
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.Alias)):
        parent = parent.parent
    if isinstance(parent, exp.Binary) and any(map(_is_name, (parent.left, parent.right))):
        return True
    if _is_typeof(node.this) and isinstance(parent, (exp.EQ, exp.NEQ)):
        return _is_type(parent.left) and _is_type(parent.right)
    if isinstance(parent, exp.Cast):
        return _word(parent.to) in _TEXTS | {"text", "varchar"}
    return isinstance(parent, exp.DPipe) or (isinstance(parent, exp.Select) and _is_shown(parent, node, tree))


def _is_shown(select: exp.Select, node: exp.Expression, tree: exp.Expression) -> bool:
    above = select.parent
    while isinstance(above, (exp.SetOperation, exp.Paren)):
        above = above.parent
    return above is None and any(node is part for item in select.expressions for part in item.walk())


def _is_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() in _FUNCTIONS


def _is_name(node: exp.Expr) -> bool:
    """Whether it gives the name of a type or function, and no oid."""
    return _is_function(node) or _is_typeof(node)


def _is_typeof(node: exp.Expr) -> bool:
    return isinstance(node, exp.Dot) and node.expression.name.lower() == "pg_typeof"


def _is_type(node: exp.Expr) -> bool:
    """Whether it is a type: pg_typeof(x), which may be cast to regtype, or a text that is."""
    if isinstance(node, exp.Cast) and _word(node.to) == "regtype":
        return _is_typeof(node.this) or node.this.is_string
    return _is_typeof(node)
