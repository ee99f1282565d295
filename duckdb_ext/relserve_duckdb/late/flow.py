"""Which items of a query come out as they are, so that nothing in it asks for their values.

An item's name is followed from the SELECT list where it stands through subqueries and CTEs to the output.
Every word of the text that is such a name has to stand where it is known to pass the value on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlglot import TokenType, exp

from relserve_duckdb.late.items import Item
from relserve_duckdb.text.tokens import Tokens

_UNSURE_WORDS = frozenset(("pivot", "unpivot", "columns", "natural", "positional", "#", "recursive"))
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True)
class Level:
    """A SELECT whose rows come out of the query.

    Attributes:
        name: what the SELECT around it calls it, "" for none.
        above: the SELECT around it, None for the query itself.
        columns: the names that its columns are given with its own, as in `m(id, mood)`.
    """

    select: exp.Select
    name: str = ""
    above: Level | None = None
    columns: tuple[exp.Identifier, ...] = ()


def levels(query: exp.Expr) -> list[Level]:
    """The SELECTs from which values pass to a query's output: itself, subqueries and CTEs in its FROM."""
    return list(_levels(query, "", None, {}, _table_counts(query)))


def reaches_output(item: Item, level: Level, tokens: Tokens) -> bool:
    """Whether nothing in the query looks at an item's value on its way out.

    Whether the query itself orders or groups by the value's number in its SELECT list, as `ORDER BY 2` does,
    is to be seen where the columns of a `*` are known: see `numbers_in`.

    Args:
        tokens: of the query's text.
    """
    if any(token.text.lower() in _UNSURE_WORDS for token in tokens):
        return False
    way = _Way(tokens, {item.name} - {""})
    way.allow(item.start, item.end)
    way.allow_sources(item, level)
    if level.columns and not way.rename(item.place, level):
        return False
    below: Level | None = None
    current: Level | None = level
    while current is not None:
        if not _lets_pass(current, item if below is None else None, way.names):
            return False
        if below is not None:
            if _is_a_value(below.name, current.select.root()) or current.columns:
                return False
            way.pass_through(current.select)
        below, current = current, current.above
    return way.is_all_allowed(item.name == "")


@dataclass
class _Way:
    """The names under which a value passes, and where in the text they may stand.

    Attributes:
        names: in lower case.
    """

    tokens: Tokens
    names: set[str]
    _allowed: list[tuple[int, int]] = field(default_factory=list)

    def allow(self, start: int, end: int) -> None:
        """An item whose own alias, behind it, is the value's name."""
        self._allowed.append((start, end))
        after = [token for token in self.tokens if token.start >= end][:2]
        if after and after[0].token_type is TokenType.ALIAS:
            after = after[1:]
        if after and after[0].text.lower() in self.names:
            self._allowed.append((after[0].start, after[0].end + 1))

    def allow_sources(self, item: Item, level: Level) -> None:
        """Columns of the item's alias that are surely not the item: behind a dot, and in its own WHERE.

        There a column comes before an alias of the same name, and is one: the item itself reads it.
        """
        if level.above is None:
            pairs = pairwise(self.tokens)
            behind = [token for before, token in pairs if before.token_type is TokenType.DOT]
            self._allowed += [(token.start, token.end + 1) for token in behind]
        aliases = [each.alias.lower() for each in level.select.expressions]
        reads = level.select.expressions[item.place].find_all(exp.Column)
        is_column = any(not each.table and each.name.lower() == item.name for each in reads)
        if is_column and aliases.count(item.name) == 1 and level.select.args.get("where"):
            columns = level.select.args["where"].find_all(exp.Column)
            mine = [each.this.meta for each in columns if each.parent_select is level.select]
            self._allowed += [(meta["start"], meta["end"] + 1) for meta in mine if "start" in meta]

    def rename(self, place: int, level: Level) -> bool:
        """The name that a column is given with its SELECT's; whether it is known which."""
        if place >= len(level.columns) or any(each.is_star for each in level.select.expressions):
            return False
        given = level.columns[place]
        self.names.add(given.name.lower())
        if "start" in given.meta:
            self._allowed.append((given.meta["start"], given.meta["end"] + 1))
        return True

    def pass_through(self, select: exp.Select) -> None:
        """The plain columns of a SELECT list that are the value, under a new name or the old one."""
        for each in select.expressions:
            column = each.this if isinstance(each, exp.Alias) else each
            if not isinstance(column, exp.Column) or column.name.lower() not in self.names:
                continue
            if isinstance(each, exp.Alias):
                self.names.add(each.alias.lower())
            starts = [part.meta["start"] for part in column.parts if "start" in part.meta]
            ends = [part.meta["end"] for part in column.parts if "end" in part.meta]
            if starts and ends:
                self.allow(min(starts), max(ends) + 1)

    def is_all_allowed(self, nameless: bool) -> bool:
        """Whether the names stand nowhere else; of a nameless value, whether no name has a bracket."""
        for token in self.tokens:
            word = token.text.lower()
            is_name = word in self.names or (
                nameless and token.token_type is TokenType.IDENTIFIER and "(" in word
            )
            if is_name and not any(start <= token.start < end for start, end in self._allowed):
                return False
        return True


def _levels(
    query: Any,
    name: str,
    above: Level | None,
    ctes: dict[str, exp.Expr],
    counts: dict[str, int],
    columns: tuple[exp.Identifier, ...] = (),
) -> Iterator[Level]:
    if not isinstance(query, exp.Select):
        return
    level = Level(query, name, above, columns)
    yield level
    if query.args.get("with_"):
        ctes = {**ctes, **{each.alias.lower(): each for each in query.args["with_"].expressions}}
    joins = query.args.get("joins") or []
    if not query.args.get("from_") or any(_may_add_nulls(join) for join in joins):
        return
    for source in (query.args["from_"].this, *(join.this for join in joins)):
        if not _is_plain(source):
            continue
        if isinstance(source, exp.Subquery):
            yield from _levels(source.this, source.alias.lower(), level, ctes, counts, _columns_of(source))
        elif isinstance(source, exp.Table) and not source.args.get("db"):
            cte = ctes.get(source.name.lower())
            is_only = counts[source.name.lower()] == 1 and not _columns_of(source)
            if isinstance(cte, exp.CTE) and is_only:
                below = {key: each for key, each in ctes.items() if each is not cte}
                name = source.alias_or_name.lower()
                yield from _levels(cte.this, name, level, below, counts, _columns_of(cte))


def _table_counts(query: exp.Expr) -> dict[str, int]:
    counts: dict[str, int] = {}
    for table in query.find_all(exp.Table):
        name = table.name.lower()
        counts[name] = counts.get(name, 0) + 1
    return counts


def _is_plain(source: exp.Expr) -> bool:
    """Whether a source of rows gives them all, as they are: no sample, no pivot."""
    return not any(source.args.get(key) for key in ("pivots", "sample", "joins"))


def _columns_of(source: exp.Expr) -> tuple[exp.Identifier, ...]:
    """The names that a source of rows gives its columns."""
    alias = source.args.get("alias")
    return tuple(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else ()


def _may_add_nulls(join: exp.Expr) -> bool:
    """Whether a join may do more than pair rows: then a value may be NULL that no call gave."""
    side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
    return bool(side or method) or kind not in ("", "INNER", "CROSS")


def _lets_pass(level: Level, item: Item | None, names: set[str]) -> bool:
    """Whether a SELECT keeps or drops whole rows without a look at the value."""
    select = level.select
    if (distinct := select.args.get("distinct")) is not None and not distinct.args.get("on"):
        return False
    if any(isinstance(each, exp.Var) for each in _ordering(select)):  # ORDER BY ALL
        return False
    if select.args.get("group") and select.args["group"].args.get("all"):
        return False
    numbers = numbers_in(select)
    if not numbers or level.above is None:
        return True
    if any(each.is_star for each in select.expressions[: max(numbers)]):
        return False
    if item is not None:
        return item.place + 1 not in numbers
    chosen = [select.expressions[number - 1] for number in numbers if number <= len(select.expressions)]
    return not any(column.name.lower() in names for each in chosen for column in each.find_all(exp.Column))


def numbers_in(select: exp.Select) -> set[int]:
    """The numbers by which ORDER BY, GROUP BY and DISTINCT ON name columns of the output."""
    grouping = select.args["group"].expressions if select.args.get("group") else []
    distinct = select.args.get("distinct")
    on = distinct.args["on"].expressions if distinct is not None and distinct.args.get("on") else []
    return {int(each.this) for each in (*_ordering(select), *grouping, *on) if _is_number(each)}


def _ordering(select: exp.Select) -> list[exp.Expr]:
    return [each.this for each in select.args["order"].expressions] if select.args.get("order") else []


def _is_a_value(name: str, query: exp.Expr) -> bool:
    """Whether a subquery's name stands for a whole row of it somewhere."""
    return bool(name) and any(
        column.name.lower() == name and not column.table for column in query.find_all(exp.Column)
    )


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()
