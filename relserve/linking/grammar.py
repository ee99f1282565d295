"""The grammar of the answers to one question: an EBNF for xgrammar.

Typed: a column is compared with values of a fitting kind only, an aggregate stands beside a column only
where the query is grouped by it, and each FROM clause has rules of its own. Bounded: no list is endless.
Each word ends with one space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from relserve.linking.handles import Handles
from relserve.linking.joins import routes
from relserve.linking.literals import QuestionValue
from relserve.linking.schema import NUMBERS, Column, Kind, Schema, Table

_COMPARISON = 'cmp ::= "= " | "> " | "< " | ">= " | "<= " | "!= "'


def grammar_text(schema: Schema, handles: Handles, values: Sequence[QuestionValue]) -> str:
    """Write the rules of every FROM clause over the schema, and the values of the question."""
    tables = tuple((at,) for at in range(len(schema.tables)))
    clauses = [_Clause(schema, handles, values, places) for places in chain(tables, routes(schema))]
    rules = [f"root ::= {_either(clause.root for clause in clauses)}"]
    for clause in clauses:
        rules += clause.rules()
    return "\n".join([*rules, _COMPARISON, *_values(values)]) + "\n"


def _values(values: Sequence[QuestionValue]) -> list[str]:
    numbers, texts, days, years = _sorted(values)
    lists = dict(numv=numbers, strv=texts, datev=days, yearv=years)
    counts = [f"v{at}" for at, value in enumerate(values) if value.is_count]
    return [f"{name} ::= {_words(found)}" for name, found in lists.items() if found] + [
        f"limv ::= {_words(['1', *counts])}"
    ]


def _sorted(values: Sequence[QuestionValue]) -> tuple[list[str], list[str], list[str], list[str]]:
    """The handles of the values that serve as numbers, texts, days and years."""
    named = [(f"v{at}", value) for at, value in enumerate(values)]
    return (
        [handle for handle, value in named if value.number is not None],
        [handle for handle, value in named if value.is_text],
        [handle for handle, value in named if value.period is not None],
        [handle for handle, value in named if value.is_year],
    )


def _words(words: Iterable[str]) -> str:
    return " | ".join(f'"{word} "' for word in words)


def _either(rules: Iterable[str]) -> str:
    return " | ".join(rules)


def is_key(table: Table, column: Column) -> bool:
    """Whether a column only names its row or another: its sum and its average say nothing."""
    return column.references is not None or table.key == (column.name,) or column.name.casefold() == "id"


class _Clause:
    """The rules of one FROM clause; their names end with its number."""

    def __init__(
        self, schema: Schema, handles: Handles, values: Sequence[QuestionValue], places: tuple[int, ...]
    ):
        self._from = "from " + " join ".join(handles.tables[at] for at in places)
        self._suffix = "_".join(str(at) for at in places)
        self._columns = [
            (handle, table, column)
            for handle, at, (table, column) in zip(
                handles.columns, schema.table_of, schema.columns, strict=True
            )
            if at in places
        ]
        self._values = _sorted(values)
        self.root = self._name("root")

    def _name(self, rule: str) -> str:
        return f"{rule}{self._suffix}"

    def _of(self, *kinds: Kind) -> list[str]:
        return [handle for handle, _, column in self._columns if column.kind in kinds]

    def rules(self) -> list[str]:
        """Every rule of the clause, the root's first."""
        select = [self._plain(), self._aggregated(), *self._distinct(), *self._grouped()]
        return [
            f"{self.root} ::= {_either(select)}",
            *self._sets(),
            *self._aggregates(),
            *self._conditions(),
            *self._orders(),
        ]

    def _sets(self) -> list[str]:
        """Lists of columns that several rules use."""
        return [f"{self._name('col')} ::= {_words(handle for handle, _, _ in self._columns)}"]

    def _plain(self) -> str:
        col = self._name("col")
        return f'"select " ( "* " | {col} ( ", " {col} ){{0,3}} ) {self._name("where")} {self._name("order")}'

    def _aggregated(self) -> str:
        agg = self._name("agg")
        return f'"select " {agg} ( ", " {agg} ){{0,2}} {self._name("where")}'

    def _distinct(self) -> list[str]:
        """SELECT DISTINCT may be ordered by its own column only."""
        where, limit = self._name("where"), '( "limit " limv )?'
        return [
            f'"select distinct {handle} " {where} ( "order by {handle} " "desc "? )? {limit}'
            for handle, _, _ in self._columns
        ]

    def _grouped(self) -> list[str]:
        years = [f"year ( {handle} )" for handle in self._of(Kind.DATE)]
        agg, where, having = self._name("agg"), self._name("where"), self._name("having")
        return [
            f'"select {key} " ( ", " {agg} ){{0,2}} {where} "group by {key} " {having} '
            f'( "order by " ( "{key} " | {agg} ) "desc "? )? ( "limit " limv )?'
            for key in [*(handle for handle, _, _ in self._columns), *years]
        ]

    def _aggregates(self) -> list[str]:
        """Aggregates, apart those that give a number."""
        sums = [
            h for h, table, column in self._columns if column.kind in NUMBERS and not is_key(table, column)
        ]
        sums = sums or self._of(*NUMBERS)
        numeric = ['"count ( * ) "', f'"count ( distinct " {self._name("col")} ") "']
        if sums:
            numeric.append(f'( "avg ( " | "sum ( " | "min ( " | "max ( " ) ( {_words(sums)} ) ") "')
        days = self._of(Kind.DATE)
        of_days = [f'( "min ( " | "max ( " ) ( {_words(days)} ) ") "'] if days else []
        having = f'( "having " {self._name("numagg")} cmp numv )?' if self._values[0] else '""'
        return [
            f"{self._name('numagg')} ::= {_either(numeric)}",
            f"{self._name('agg')} ::= {_either([self._name('numagg'), *of_days])}",
            f"{self._name('having')} ::= {having}",
        ]

    def _conditions(self) -> list[str]:
        cond = self._name("cond")
        more = f'( ( "and " | "or " ) {cond} ){{0,2}}'
        return [
            f"{cond} ::= {_either(self._comparisons())}",
            f'{self._name("where")} ::= "{self._from} " ( "where " {cond} {more} )?',
        ]

    def _comparisons(self) -> list[str]:
        numbers, texts, days, years = self._values
        found = [f'{self._name("col")} "is " "not "? "null "']
        if numbers and (columns := self._of(*NUMBERS)):
            found.append(f'( {_words(columns)} ) ( cmp numv | "between " numv "and " numv )')
        if texts and (columns := self._of(Kind.TEXT)):
            found.append(f'( {_words(columns)} ) ( "= " | "!= " ) strv')
            found.append(f'"contains ( " ( {_words(columns)} ) ", " strv ") "')
        if days and (columns := self._of(Kind.DATE)):
            found.append(f'( {_words(columns)} ) ( cmp datev | "between " datev "and " datev )')
        if years and (columns := self._of(Kind.DATE)):
            found.append(
                f'"year ( " ( {_words(columns)} ) ") " ( cmp yearv | "between " yearv "and " yearv )'
            )
        if columns := self._of(Kind.BOOL):
            found.append(f'( {_words(columns)} ) "= " ( "true " | "false " )')
        return found

    def _orders(self) -> list[str]:
        return [
            f'{self._name("order")} ::= ( "order by " {self._name("col")} "desc "? )? ( "limit " limv )?',
        ]
