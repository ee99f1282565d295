"""Statements that can do with fewer prompts: llm filters in a plain WHERE, with or without a LIMIT.

What is found here is only proposed: `input_scan` and `prefetch` hold it against what DuckDB does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from relserve.call.options import FUNCTIONS, ROW_FUNCTIONS, Options, parse_options
from relserve.call.relquery import CallSite
from relserve.errors import RelserveError
from relserve_duckdb.text.calls import LlmCall, Parameters, constant, constants_of
from relserve_duckdb.udf.site import sql_type_of

LATE_ROWS = "relserve_late_rows"  # what a query is called around which its llm calls are evaluated
ANSWER = "v"  # what a condition calls the answer
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Neg, exp.Paren, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.In, exp.Between, exp.Boolean, exp.And, exp.Or, exp.Like, exp.Length, exp.Lower,
)  # fmt: skip
_STREAMING = {"expressions", "from_", "joins", "where", "limit", "offset", "with_"}
_WRAPPER = {"expressions", "from_", "limit", "with_"}
_FUNCTIONS = tuple(  # whose answers a condition reads as they are, and not out of JSON or a vector's text
    name for name in ROW_FUNCTIONS if not FUNCTIONS[name].is_json and not sql_type_of(name).endswith("[]")
)


@dataclass(frozen=True)
class Filter:
    """A conjunct of a WHERE that depends on the answer of one llm call and on nothing else.

    Attributes:
        condition: the conjunct as SQL over the answer.
        literals: the constants that it compares the answer with.
    """

    function: str
    template: str
    options: Options
    condition: str
    literals: tuple[Any, ...]

    def is_of(self, site: CallSite) -> bool:
        """Whether this is the filter's call site."""
        same = site.function == self.function and site.options == self.options
        return same and site.binding.template.text == self.template

    def candidates(self) -> list[Any]:
        """Answers of which one may well pass."""
        if sql_type_of(self.function) == "BOOLEAN":
            return [True, False]
        if sql_type_of(self.function) == "DOUBLE":
            lo, hi = self.options.score_bounds
            numbers = [each for each in self.literals if isinstance(each, (int, float))]
            return [float(each) for each in (lo, hi, (lo + hi) / 2, *numbers)]
        texts = [each for each in self.literals if isinstance(each, str)]
        return [*self.options.choices, *texts, "", "x" * 1000]


@dataclass(frozen=True)
class FilterShape:
    """The llm filters of a statement, in the order of the text.

    Attributes:
        limit: rows that a LIMIT lets through, where it may end the statement early; None: no such LIMIT.
        offset: rows that are skipped before.
    """

    filters: tuple[Filter, ...]
    limit: int | None
    offset: int


def find_filter_shape(
    root: exp.Expr | None, calls: Sequence[LlmCall], parameters: Parameters
) -> FilterShape | None:
    """The shape of a statement, None when it is not surely one of those that can do with fewer prompts."""
    wrappers: list[exp.Select] = []
    core: Any = root.expression if isinstance(root, (exp.Insert, exp.Create)) else root
    named: dict[str, exp.Expr] = {}
    while (inner := _wrapped(core, named)) is not None:
        wrappers.append(core)
        core = inner
    if not isinstance(core, exp.Select) or not core.args.get("where"):
        return None
    try:
        filters = tuple(_filters(core, calls, parameters))
    except (LookupError, RelserveError):
        return None
    heads = {(each.function, each.template) for each in filters}
    others = [call for call in calls if not _is_inside(call.node, core.args["where"])]
    around = (core, *wrappers)
    if len(heads) < len(filters) or not all(_is_harmless(call, around, heads, parameters) for call in others):
        return None
    limit, offset = _limit_of(core, wrappers, parameters)
    if not filters or any(each.options.on_error == "raise" for each in filters if len(filters) > 1):
        return None  # another order could meet a failing row that the user's order never asks
    return FilterShape(filters, limit, offset)


def _filters(core: exp.Select, calls: Sequence[LlmCall], parameters: Parameters) -> Iterator[Filter]:
    """The conjuncts with llm calls.

    Raises:
        LookupError: one of them is not decided by one call alone.
        RelserveError: an option is wrong.
    """
    where = core.args["where"].this
    hidden = {item.alias.lower() for item in core.expressions if item.alias and _has_call(item, calls)}
    if any(not column.table and column.name.lower() in hidden for column in where.find_all(exp.Column)):
        raise LookupError("the WHERE reads an llm call by its alias")
    for conjunct in _conjuncts(where):
        mine = [call for call in calls if _is_inside(call.node, conjunct)]
        if mine:
            if len(mine) > 1 or mine[0].function not in _FUNCTIONS:
                raise LookupError("not one call of a known kind")
            yield _filter(conjunct, mine[0], parameters)


def _filter(conjunct: exp.Expr, call: LlmCall, parameters: Parameters) -> Filter:
    if conjunct.find(exp.Query) is not None:
        raise LookupError("a subquery")
    if isinstance(call.node.parent, exp.Dot):
        raise LookupError("what stands before the dot is a value too")
    template, options = constants_of(call, parameters)
    bare = conjunct.copy().transform(lambda node: exp.column(ANSWER) if node == call.node else node)
    if not all(isinstance(node, _PLAIN) for node in bare.walk()):
        raise LookupError("more than a comparison")
    if any(column.name != ANSWER or column.table for column in bare.find_all(exp.Column)):
        raise LookupError("it reads another column")
    literals = [each.this if each.is_string else float(each.this) for each in bare.find_all(exp.Literal)]
    literals += [-each for each in literals if isinstance(each, float)]
    checked = parse_options(call.function, options)
    if checked.asks_fewer:
        raise LookupError("a cascade or a join decides about all rows together")
    return Filter(call.function, template, checked, bare.sql("duckdb"), tuple(literals))


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return [*_conjuncts(node.left), *_conjuncts(node.right)] if isinstance(node, exp.And) else [node]


def _is_inside(node: exp.Expr, above: exp.Expr) -> bool:
    while node is not above and node.parent is not None:
        node = node.parent
    return node is above


def _has_call(item: exp.Expr, calls: Sequence[LlmCall]) -> bool:
    return any(_is_inside(call.node, item) for call in calls)


def _is_harmless(
    call: LlmCall, around: Sequence[exp.Select], heads: set[tuple[str, str]], parameters: Parameters
) -> bool:
    """Whether a call outside the WHERE sees only rows that passed, and asks nothing that a filter asks.

    Args:
        around: the SELECT with the WHERE, and those around it that keep its rows.
    """
    item: Any = call.node
    while item.parent is not None and not isinstance(item.parent, exp.Query):
        item = item.parent
    if all(item.parent is not each for each in around) or item.arg_key not in ("expressions", "order"):
        return False
    try:
        template = constants_of(call, parameters)[0]
    except LookupError:
        return all(function != call.function for function, _ in heads)
    return (call.function, template) not in heads


def _wrapped(query: Any, named: dict[str, exp.Expr]) -> Any:
    """The inner query of `SELECT * FROM (..)`, perhaps with a LIMIT, as relations are written; else None.

    Where calls come after a LIMIT (see `late`), the SELECT around it has their items, a row each.

    Args:
        named: the queries of a WITH by name; those of this query are put in.
    """
    if not isinstance(query, exp.Select) or _used(query) - _WRAPPER:
        return None
    ctes = query.args["with_"] if query.args.get("with_") else exp.With()
    if ctes.args.get("recursive"):
        return None
    named.update((each.alias, each.this) for each in ctes.expressions)
    inner = query.args["from_"].this if query.args.get("from_") else None
    is_late = isinstance(inner, exp.Subquery) and inner.alias == LATE_ROWS
    if not is_late and [type(item) is exp.Star and not _used(item) for item in query.expressions] != [True]:
        return None
    if isinstance(inner, exp.Subquery) and not _used(inner) - {"this", "alias"}:
        return inner.this
    is_plain = isinstance(inner, exp.Table) and not _used(inner) - {"this", "alias"}
    return named.get(inner.name) if is_plain and inner is not None else None


def _used(node: exp.Expr) -> set[str]:
    return {key for key, value in node.args.items() if value}


def _limit_of(
    core: exp.Select, wrappers: Sequence[exp.Select], parameters: Parameters
) -> tuple[int | None, int]:
    """Rows that come out at most and rows skipped before; None for no LIMIT that may stop early."""
    if _used(core) - _STREAMING or any(item.find(exp.AggFunc, exp.Window) for item in core.expressions):
        return None, 0
    limits = [each.args["limit"] for each in (core, *wrappers) if each.args.get("limit")]
    numbers = [_number(each, parameters) for each in limits]
    offset = _number(core.args["offset"], parameters) if core.args.get("offset") else 0
    if not numbers or offset is None or any(not number for number in numbers):
        return None, 0
    return min(number for number in numbers if number), offset


def _number(node: exp.Expr, parameters: Parameters) -> int | None:
    """The number in a LIMIT or OFFSET, None where the text does not tell."""
    if not isinstance(node, (exp.Limit, exp.Offset)) or _used(node) != {"expression"}:
        return None
    if isinstance(node.expression, exp.Placeholder) and not node.expression.this:
        is_only = len(list(node.root().find_all(exp.Placeholder))) == 1  # else its number is not to be told
        value = parameters.get("1") if is_only else None
        return value if type(value) is int and value >= 0 else None
    try:
        value = constant(node.expression, parameters)
    except LookupError:
        return None
    return value if type(value) is int and value >= 0 else None
