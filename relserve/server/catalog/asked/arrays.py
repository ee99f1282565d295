"""Arrays of PostgreSQL's."""

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.wire.array_values import read_array_text

_COUNTING = {"generate_subscripts", "array_lower", "array_upper"}
_VECTORS = {"indkey", "indclass", "indcollation", "indoption", "proargtypes"}


def write_array_literals(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """'{r,v}' cast to an array, or after ANY, becomes the array of its items."""
    for node in list(tree.find_all(exp.Cast, exp.Any)):
        text = node.this.unnest()
        is_array = isinstance(node, exp.Any) or node.args["to"].is_type(exp.DataType.Type.ARRAY)
        if is_array and text.is_string and text.name[:1] == "{" and text.name[-1:] == "}":
            text.replace(exp.Array(expressions=[_item(item) for item in read_array_text(text.name, str)[1]]))
    for node in list(tree.find_all(exp.Coalesce)):
        for default in node.expressions:
            if default.is_string and default.name == "{}" and not isinstance(node.this, exp.Cast):
                default.replace(exp.Array())
    return tree


def count_vectors_from_one(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """indkey[0] is the first: PostgreSQL counts its vectors from 0, and DuckDB every list from 1."""
    for call in list(tree.find_all(exp.Anonymous)):
        first = call.expressions[0].name.lower() if call.expressions else ""
        if call.name.lower() in _COUNTING and first in _VECTORS:
            call.replace(exp.paren(exp.Sub(this=call.copy(), expression=exp.Literal.number(1))))
    for node in tree.find_all(exp.Bracket):
        if node.this.name.lower() in _VECTORS:
            counted = [exp.Add(this=exp.paren(i), expression=exp.Literal.number(1)) for i in node.expressions]
            node.set("expressions", counted)
    return tree


def write_vectors_as_texts(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """indkey::text is '2 3': PostgreSQL writes its vectors with spaces, and its arrays with braces."""
    for node in list(tree.find_all(exp.Cast)):
        if node.this.name.lower() in _VECTORS and node.to.is_type(*exp.DataType.TEXT_TYPES):
            spaced = [node.this, exp.Literal.string(" ")]
            node.replace(exp.Anonymous(this="array_to_string", expressions=spaced))
    return tree


def _item(text: str | None) -> exp.Expression:
    return exp.Null() if text is None else exp.Literal.string(text)
