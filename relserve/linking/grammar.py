"""The grammar of the answers to one question: an EBNF for xgrammar.

Typed: a column is compared with values of a fitting kind only, an aggregate stands beside a column only
where the query is grouped, and each FROM clause has rules of its own. Bounded: no list is endless. Each
word ends with one space. What a rule would need a copy per column for (GROUP BY the selected column) the
SQL writer sees to: the grammar stays small, since one is compiled for every question and shuffle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from relserve.linking.handles import Handles
from relserve.linking.joins import routes
from relserve.linking.literals import QuestionValue
from relserve.linking.schema import NUMBERS, Column, ColumnKind, Schema, Table

_COMPARISON = 'cmp ::= "= " | "> " | "< " | ">= " | "<= " | "!= "'
_LIMIT = 'limit ::= ( "limit " limv )?'
_USES = {
    ColumnKind.INT: ("num",),
    ColumnKind.NUM: ("num",),
    ColumnKind.TEXT: ("str",),
    ColumnKind.DATE: ("date",),
    ColumnKind.BOOL: ("bool",),
}
_TRUTH = 'truth ::= "= true " | "= false "'


def grammar_text(
    schema: Schema,
    handles: Handles,
    values: Sequence[QuestionValue],
    named: Collection[int] = (),
) -> str:
    """Write the rules of every FROM clause over the schema, and the values of the question.

    Args:
        named: positions of the tables that the question may be about, the only ones of its FROM clause, but
            for a bridge between two of them; none: all.
    """
    fitting = _value_rules(values)
    sets = _column_sets(schema, handles)
    tables = ((at,) for at in range(len(schema.tables)))
    kept = [each for each in chain(tables, routes(schema)) if not named or set(each) <= set(named)]
    clauses = [_Clause(handles, places, sets, fitting) for places in kept]
    lists = [f"{name}{at} ::= {_words(found)}" for (name, at), found in sets.items()]
    rules = [rule for clause in clauses for rule in clause.rules()]
    root = f"root ::= {_either(clause.root for clause in clauses)}"
    shared = [_COMPARISON, _LIMIT, _TRUTH, *(f"{name} ::= {rule}" for name, rule in fitting.items())]
    return "\n".join([root, *rules, *lists, *shared]) + "\n"


def _value_rules(values: Sequence[QuestionValue]) -> dict[str, str]:
    """By kind the rule of what stands after a column: the comparisons with the values that fit."""
    named = [(f"v{at}", value) for at, value in enumerate(values)]
    lists = dict(
        num=[handle for handle, value in named if value.number is not None],
        str=[handle for handle, value in named if value.is_text],
        date=[handle for handle, value in named if value.period is not None],
        year=[handle for handle, value in named if value.is_year],
    )
    rules = {f"{kind}v": _words(found) for kind, found in lists.items() if found}
    rules |= {
        f"{kind}is": f'cmp {kind}v | "between " {kind}v "and " {kind}v'
        for kind in ("num", "date", "year")
        if lists[kind]
    }
    if lists["str"]:
        rules["stris"] = '( "= " | "!= " ) strv'
    return rules | {"limv": _words(["1", *(handle for handle, value in named if value.is_count)])}


def _words(words: Iterable[str]) -> str:
    return " | ".join(f'"{word} "' for word in words)


def _either(rules: Iterable[str]) -> str:
    return " | ".join(rules)


def is_key(table: Table, column: Column) -> bool:
    """Whether a column only names its row or another: its sum and its average say nothing."""
    return column.references is not None or table.key == (column.name,) or column.name.casefold() == "id"


def _column_sets(schema: Schema, handles: Handles) -> dict[tuple[str, int], list[str]]:
    """The handles of each table's columns, by what may be done with them; no set is empty."""
    found: dict[tuple[str, int], list[str]] = {}
    for handle, at, (table, column) in zip(handles.columns, schema.table_of, schema.columns, strict=True):
        names = ["col", *_USES.get(column.kind, ())]
        if column.kind in NUMBERS and not is_key(table, column):
            names.append("sum")
        for name in names:
            found.setdefault((name, at), []).append(handle)
    return found


class _Clause:
    """The rules of one FROM clause; their names end with its tables' positions."""

    def __init__(
        self,
        handles: Handles,
        places: tuple[int, ...],
        sets: dict[tuple[str, int], list[str]],
        fitting: dict[str, str],
    ):
        self._from = "from " + " join ".join(handles.tables[at] for at in places)
        self._suffix = "_".join(str(at) for at in places)
        self._places = places
        self._sets = sets
        self._fitting = fitting
        self.root = self._name("root")

    def _name(self, rule: str) -> str:
        return f"{rule}_{self._suffix}"

    def _columns(self, name: str) -> str:
        """A set of columns over the tables of the clause; empty where there are none."""
        rules = [f"{name}{at}" for at in self._places if (name, at) in self._sets]
        return f"( {_either(rules)} )" if rules else ""

    def rules(self) -> list[str]:
        """Every rule of the clause, the root's first."""
        col, key, agg, where = self._columns("col"), self._name("key"), self._name("agg"), self._name("where")
        order = f'( "order by " {col} "desc "? )? limit'
        having = f'( "having " {self._name("numagg")} cmp numv )?' if "numv" in self._fitting else ""
        ranked = f'( "order by " ( {key} | {agg} ) "desc "? )? limit'
        conditions = _either(self._conditions())
        more = f'( ( "and " | "or " ) {self._name("cond")} ){{0,2}}'
        plain = f'( "* " | "distinct " {col} | {col} ( ", " {col} ){{0,3}} ) {where} {order}'
        aggregated = f'{agg} ( ", " {agg} ){{0,2}} {where}'
        grouped = f'{key} ( ", " {agg} ){{0,2}} {where} "group by " {key} {having} {ranked}'
        return [
            f'{self.root} ::= "select " ( {plain} | {aggregated} | {grouped} )',
            f"{self._name('cond')} ::= {conditions}",
            f'{where} ::= "{self._from} " ( "where " {self._name("cond")} {more} )?',
            *self._aggregates(),
        ]

    def _aggregates(self) -> list[str]:
        """Aggregates, apart those that give a number, and what a query is grouped by."""
        col, days = self._columns("col"), self._columns("date")
        numeric = ['"count ( " ( "* " | "distinct " ' + col + ' ) ") "']
        if numbers := self._columns("sum") or self._columns("num"):
            numeric.append(f'( "avg ( " | "sum ( " | "min ( " | "max ( " ) {numbers} ") "')
        of_days = [f'( "min ( " | "max ( " ) {days} ") "'] if days else []
        years = [f'"year ( " {days} ") "'] if days else []
        return [
            f"{self._name('numagg')} ::= {_either(numeric)}",
            f"{self._name('agg')} ::= {_either([self._name('numagg'), *of_days])}",
            f"{self._name('key')} ::= {_either([col, *years])}",
        ]

    def _conditions(self) -> list[str]:
        found = [f'{self._columns("col")} ( "is null " | "is not null " )']
        for name in ("num", "str", "date"):
            if f"{name}v" in self._fitting and (columns := self._columns(name)):
                found.append(f"{columns} {name}is")
        if "strv" in self._fitting and (columns := self._columns("str")):
            found.append(f'"contains ( " {columns} ", " strv ") "')
        if "yearv" in self._fitting and (columns := self._columns("date")):
            found.append(f'"year ( " {columns} ") " yearis')
        if columns := self._columns("bool"):
            found.append(f"{columns} truth")
        return found
