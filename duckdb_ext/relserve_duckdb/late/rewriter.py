"""The statement that runs where llm calls can come after a LIMIT, and only for the rows that come out.

    SELECT id, llm('Mood: {}', review) AS mood FROM reviews ORDER BY id LIMIT 20

runs as

    SELECT c0 AS id, llm('Mood: {}', c1.review) AS mood
    FROM (SELECT id, {'review': review} AS mood FROM reviews ORDER BY id LIMIT 20) AS late(c0, c1)

so that DuckDB finds the 20 rows first. Where a call stands in a subquery, a CTE or a view below the LIMIT,
what it reads passes from there to the output in its column. DuckDB binds both texts first, and they have to
give the same columns of the same types; otherwise the user's own text runs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from relserve.linking.schema import quoted
from relserve_duckdb.late.flow import levels, numbers_in, reaches_output
from relserve_duckdb.late.items import ROW_CALLS, Item, Kinds, NotLate, read_item
from relserve_duckdb.late.queries import ctes_before, limited_queries
from relserve_duckdb.late.views import with_views
from relserve_duckdb.rehearse.filter_shape import LATE_ROWS
from relserve_duckdb.text.calls import by_name, find_calls
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.parameters import find_parameters, masked
from relserve_duckdb.text.select_items import select_items
from relserve_duckdb.text.stand_in import StandIn, TextPiece, replaced, with_numbers
from relserve_duckdb.text.statements import Statement, parse_tree, standing_in
from relserve_duckdb.text.tokens import function_names, tokens_of
from relserve_duckdb.udf.client import Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.plan_only import plan_only

log = logging.getLogger(__name__)

_PREFIX = "relserve_late_"
_READ_ONCE = re.compile(r"(?i)/dev/(stdin|fd)")
_KEEPS_SOME = re.compile(r"(?i)\blimit\b|\bdistinct\s++on\b")
_KINDS = (
    "SELECT system.main.lower(function_name), system.main.list(DISTINCT function_type) "
    "FROM system.main.duckdb_functions() WHERE system.main.list_contains($1, "
    "system.main.lower(function_name)) GROUP BY ALL"
)
_VIEW = (
    "SELECT sql FROM system.main.duckdb_views() WHERE system.main.lower(view_name) = $1 AND NOT internal "
    "AND ((database_name = system.main.current_database() AND schema_name = system.main.current_schema()) "
    "OR temporary) UNION ALL "
    "SELECT NULL FROM system.main.duckdb_tables() WHERE system.main.lower(table_name) = $1"
)


class Columns(NamedTuple):
    """What a text gives, as DuckDB binds it."""

    names: list[str]
    types: list[Any]

    def is_like(self, other: Columns) -> bool:
        return self.names == other.names and list(map(str, self.types)) == list(map(str, other.types))


@dataclass(frozen=True)
class LateCalls:
    """Rewrites the statements of one connection.

    Attributes:
        one_shot_in: the names in a text of what can be read only once; binding may read it.
        is_on: whether to rewrite at all.
    """

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls
    one_shot_in: Callable[[Variables, str], list[str]]
    is_on: bool

    def rewritten(
        self, variables: Variables, statement: Statement, parameters: Any, ends_result: bool = False
    ) -> Statement:
        """What runs instead of a statement; the statement itself where its calls cannot surely come later.

        Args:
            ends_result: whether an unread result of the connection may be ended.
        """
        if not self.is_on or not self._may_gain(statement) or self.one_shot_in(variables, statement.text):
            return statement
        try:
            if ends_result:
                self.raw.execute("SELECT 1").fetchall()
            text = self._stand_in(variables, statement, by_name(parameters))
            if text is None:
                return statement
            whole = text if statement.stand_in is None else statement.stand_in.then(text)
            found = standing_in(self.raw, whole, statement.queries)
        except (SqlglotError, RecursionError, duckdb.Error) as error:
            log.debug("calls stay before the LIMIT: %s", error)
            return statement
        self.state.stand_ins = [*self.state.stand_ins, whole]
        return found

    def _may_gain(self, statement: Statement) -> bool:
        calls = bool(statement.calls) or bool(self.indirect_calls.calling_definitions(statement.text))
        if not calls or statement.plans_only or statement.root is None:
            return False
        whole = self.indirect_calls.with_definitions(statement.text)
        return _KEEPS_SOME.search(whole) is not None and _READ_ONCE.search(whole) is None

    def _stand_in(
        self, variables: Variables, statement: Statement, parameters: Mapping[str, Any]
    ) -> StandIn | None:
        """The text with every query in it rewritten that can be; None for none."""
        whole = with_numbers(statement.text)
        if self.indirect_calls.calling_definitions(statement.text) and statement.is_verbatim:
            query = parse_tree(statement.rehearsal)
            views = [] if query is None else with_views(tokens_of(whole.text), query, self._view)
            whole = whole.then(replaced(whole.text, views)) if views else whole
        text, tokens = whole.text, tokens_of(whole.text)
        bind = partial(self._bind, variables, parameters)
        parts: list[TextPiece] = []
        done = -1
        for first, last in limited_queries(tokens):
            if first <= done:
                continue
            start, end = tokens[first].start, tokens[last].end + 1
            query_parts = self._parts(text[start:end], partial(bind, ctes_before(text, tokens, first)))
            if query_parts:
                done = last
                parts += [TextPiece(each.text, each.start + start, each.end + start) for each in query_parts]
        return whole.then(replaced(text, parts)) if parts else None

    def _parts(self, text: str, bind: Callable[[str], Columns]) -> list[TextPiece]:
        """What takes the place of parts of a query whose calls can come later; nothing for any other."""
        query = sqlglot.parse_one(masked(text), read="duckdb")
        if not isinstance(query, exp.Select):
            return []
        items = dict(enumerate(self._items(query, text)))
        if not items or not _leaves_filters_alone(query, items.values()):
            return []
        wanted = bind(text)
        while items:
            carried = [TextPiece(_carrier(k, item, text), item.start, item.end) for k, item in items.items()]
            columns = bind(replaced(text, carried).text)
            places = {
                place: k
                for place, kind in enumerate(columns.types)
                if (k := _number(kind, items)) is not None
            }
            looked_at = {places[number - 1] for number in numbers_in(query) if number - 1 in places}
            if not looked_at:
                break
            items = {k: item for k, item in items.items() if k not in looked_at}
        if not items or not places:
            return []
        outputs = [
            f"{_value(place, places, items, text)} AS {quoted(name)}"
            for place, name in enumerate(wanted.names)
        ]
        names = ", ".join(f"{_PREFIX}c{place}" for place in range(len(wanted.names)))
        before = f"SELECT {', '.join(outputs)} FROM ("
        parts = [
            TextPiece(before, 0, 0), *carried, TextPiece(f") AS {LATE_ROWS}({names})", len(text), len(text))
        ]  # fmt: skip
        return parts if bind(replaced(text, parts).text).is_like(wanted) else []

    def _items(self, query: exp.Select, text: str) -> Iterator[Item]:
        """The items of a query whose calls can come after it."""
        tokens = tokens_of(text)
        spans = list(select_items(tokens))
        parameters = {place.start for place in find_parameters(text)}
        kinds = self._kinds({*function_names(tokens)} - ROW_CALLS)
        for level in levels(query):
            for place, item in enumerate(level.select.expressions):
                starts = {call.node.meta.get("start", -1) for call in find_calls(item)}
                inside = [
                    span for span in spans
                    if starts and tokens[span.first].start <= min(starts) <= tokens[span.last].start
                ]  # fmt: skip
                if not inside:
                    continue
                try:
                    found = read_item(item, place, tokens, inside[0], kinds, parameters)
                except NotLate as reason:
                    log.debug("calls stay before the LIMIT: %s", reason)
                    continue
                if reaches_output(found, level, tokens):
                    yield found

    def _kinds(self, names: set[str]) -> Kinds:
        rows = self.raw.sql(_KINDS, params=[sorted(names)]).fetchall() if names else []
        return {name: set(kinds) for name, kinds in rows}

    def _view(self, name: str) -> str | None:
        if not self.indirect_calls.calling_definitions(name):
            return None
        rows = self.raw.sql(_VIEW, params=[name]).fetchall()
        definition = rows[0][0] if len(rows) == 1 else None
        # a server that a view names is not one that the user's text names: see `ModelHosts`
        return definition if definition and "model" not in definition.lower() else None

    def _bind(self, variables: Variables, parameters: Mapping[str, Any], ctes: str, text: str) -> Columns:
        whole = f"{ctes} {text}"
        used = {
            place.name: parameters[place.name] for place in find_parameters(whole) if place.name in parameters
        }
        given = {"params": used} if used else {}
        relation = plan_only(self.state, partial(variables.call, self.raw.sql, whole, **given))
        return Columns(list(relation.columns), list(relation.types))


def _leaves_filters_alone(query: exp.Select, items: Collection[Item]) -> bool:
    """Whether it is known which rows come out, or a filter's answers do not decide when there are enough.

    Filters under a LIMIT without an order are asked in blocks until it is full, of the user's own text.
    """
    if query.args.get("order") or query.args.get("distinct"):
        return True
    places = [(item.start, item.end) for item in items]
    starts = [call.node.meta.get("start", -1) for call in find_calls(query)]
    return all(any(start <= each < end for start, end in places) for each in starts)


def _carrier(k: int, item: Item, text: str) -> str:
    """What passes an item's leaves to the output."""
    leaves = dict.fromkeys(text[leaf.start : leaf.end] for leaf in item.leaves)
    fields = ", ".join(f"{_PREFIX}{k}_{i} := {leaf}" for i, leaf in enumerate(leaves))
    return f"system.main.struct_pack({fields})"


def _number(kind: Any, items: Mapping[int, Item]) -> int | None:
    """Which item's carrier is of this type; None for any other type."""
    if kind.id != "struct":
        return None
    name = str(kind.children[0][0])
    k = name.removeprefix(_PREFIX).partition("_")[0]
    return int(k) if name.startswith(_PREFIX) and k.isdigit() and int(k) in items else None


def _value(place: int, places: Mapping[int, int], items: Mapping[int, Item], text: str) -> str:
    """A column of the rows that come out, or the item that it carries the leaves of."""
    column = f"{_PREFIX}c{place}"
    if place not in places:
        return column
    k = places[place]
    item = items[k]
    fields = {leaf: i for i, leaf in enumerate(dict.fromkeys(text[e.start : e.end] for e in item.leaves))}
    parts = [
        TextPiece(
            f"system.main.struct_extract({column}, '{_PREFIX}{k}_{fields[text[e.start : e.end]]}')",
            e.start,
            e.end,
        )
        for e in item.leaves
    ]
    return replaced(text[: item.end], parts).text[item.start :]  # what is before the item stays as it is
