"""Items of SELECT lists with llm calls, taken apart: what they read of a row, and what they make of that.

`upper(llm('{}?', t.a)) || b` reads t.a and b. What it reads may be carried past a LIMIT, and the item be
evaluated there, where it is known of which functions it consists and that they see one row at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import TokenType, exp

from relserve.call.options import FUNCTIONS
from relserve_duckdb.text.call_limits import CALLED, TEXT2SQL_QUERY
from relserve_duckdb.text.tokens import Tokens, TokenSpan, closing

ROW_CALLS = frozenset(name for name in CALLED if name == TEXT2SQL_QUERY or not FUNCTIONS[name].aggregate)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_UNSURE = (
    exp.Query, exp.Lambda, exp.Star, exp.Columns, exp.Placeholder, exp.Dot, exp.Exists, exp.Unnest,
    exp.Explode, exp.Pivot, exp.PositionalColumn,
)  # fmt: skip
_SPECIAL = (
    "random",
    "uuid",
    "uuidv4",
    "uuidv7",
    "gen_random_uuid",
    "nextval",
    "currval",
    "setseed",
    "unnest",
)

Kinds = Mapping[str, Collection[str]]  # what DuckDB's catalog says a function's name stands for


class NotLate(Exception):
    """An item must be evaluated where it stands; its text says why."""


@dataclass(frozen=True)
class Leaf:
    """A part of an item that is evaluated where the item stands: from where to where in the text."""

    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """An item with llm calls.

    Attributes:
        select: the SELECT that it belongs to.
        place: its number in the list, from 0.
        name: its alias in lower case, "" for none.
        start, end: where its expression stands in the text, without its alias.
        leaves: what it reads of a row.
    """

    select: exp.Select
    place: int
    name: str
    start: int
    end: int
    leaves: tuple[Leaf, ...]


def read_item(
    item: exp.Expr, place: int, tokens: Tokens, span: TokenSpan, kinds: Kinds, parameters: Collection[int]
) -> Item:
    """Take apart an item that has llm calls.

    Args:
        span: its tokens, with its alias.
        parameters: where in the text parameters begin.

    Raises:
        NotLate: it is not surely one that may be evaluated after a LIMIT.
    """
    last, name = span.last, ""
    if isinstance(item, exp.Alias):
        name = item.alias.lower()
        if tokens[last].text.lower() != name:
            raise NotLate("an alias that does not stand at its end")
        last -= 2 if tokens[last - 1].token_type is TokenType.ALIAS else 1
    expression = item.this if isinstance(item, exp.Alias) else item
    if any(isinstance(node.parent, exp.Func) and not _is_call(node.parent) for node in _arrows(expression)):
        raise NotLate("an arrow that may be a lambda")
    inner = TokenSpan(span.first, last)
    wholes = list(_wholes(tokens, inner, kinds))
    for found in expression.find_all(*_UNSURE):
        if not _is_a_field(found) and not any(w.start <= found.meta.get("start", -1) < w.end for w in wholes):
            raise NotLate(type(found).__name__)
    start, end = tokens[inner.first].start, tokens[inner.last].end + 1
    columns = [_column(node) for node in expression.find_all(exp.Column)]
    columns = [each for each in columns if each.start not in parameters]
    if any(not start <= each.start < each.end <= end for each in columns):
        raise NotLate("a column whose place is not known")
    outside = [each for each in columns if not any(w.start <= each.start < w.end for w in wholes)]
    leaves = sorted([*wholes, *outside], key=lambda leaf: leaf.start)
    if not leaves:
        raise NotLate("it reads nothing")
    select = item.parent
    assert isinstance(select, exp.Select)
    return Item(select, place, name, start, end, tuple(leaves))


def _arrows(expression: exp.Expr) -> Iterator[exp.Expr]:
    """`a -> b` on a plain name: of JSON, or a lambda."""
    for node in expression.find_all(exp.JSONExtract):
        if isinstance(node.this, exp.Column) and not node.this.table:
            yield node


def _is_a_field(node: exp.Expr) -> bool:
    """Whether it is a field of what a call gives, as `llm_extract(..).brand`."""
    if not isinstance(node, exp.Dot) or not isinstance(node.expression, exp.Identifier):
        return False
    return _is_call(node.this) or _is_a_field(node.this)


def _is_call(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in ROW_CALLS


def _column(node: exp.Column) -> Leaf:
    parts = node.parts
    if any("start" not in part.meta for part in parts):
        raise NotLate("a column whose place is not known")
    return Leaf(min(part.meta["start"] for part in parts), max(part.meta["end"] for part in parts) + 1)


def _wholes(tokens: Tokens, span: TokenSpan, kinds: Kinds) -> Iterator[Leaf]:
    """The aggregates and window functions of an item, which are evaluated with the rows that they see.

    Raises:
        NotLate: a function that is not surely one of a row alone.
    """
    i = span.first
    while i < span.last:
        if tokens[i + 1].token_type is not TokenType.L_PAREN:
            i += 1
            continue
        name, of_a_name = tokens[i].text.lower(), tokens[i].token_type in _NAMES
        known, end = set(kinds.get(name, ())), closing(tokens, i + 1)
        last = _end_of_clauses(tokens, end)
        behind_dot = i > span.first and tokens[i - 1].token_type is TokenType.DOT
        if (known & {"aggregate", "window"}) or last > end:
            inside = {token.text.lower() for token in tokens[i : last + 1]}
            if behind_dot or known & {"scalar", "macro", "table_macro"} or inside & set(CALLED):
                raise NotLate(f"{name}() over answers, or of several kinds")
            yield Leaf(tokens[i].start, tokens[last].end + 1)
            i = last + 1
            continue
        if name in _SPECIAL or behind_dot or "macro" in known:
            raise NotLate(f"{name}()")
        if of_a_name and name not in ROW_CALLS and known != {"scalar"}:
            raise NotLate(f"{name}() is not known")
        i += 1


def _end_of_clauses(tokens: Tokens, end: int) -> int:
    """The last token of the FILTER, WITHIN GROUP and OVER that follow a call, `end` where there are none."""
    i = end + 1
    while i < len(tokens) and tokens[i].text.lower() in ("filter", "within", "over"):
        i += 1
        if i < len(tokens) and tokens[i].token_type is not TokenType.L_PAREN:
            i += tokens[i - 1].text.lower() == "within"
        if i >= len(tokens):
            break
        end = closing(tokens, i) if tokens[i].token_type is TokenType.L_PAREN else i
        i = end + 1
    return end
