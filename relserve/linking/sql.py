"""Writes the SQL of an answer: names and values are put in here, so that no model ever spells them.

Where the answer language says less than SQL:
- "from t1 join t2" joins over foreign keys, through a bridge too; "*" is then all columns of the first;
- "or" binds closer than "and";
- GROUP BY takes the selected columns too; groups and distinct rows may be in the order of any column, which
  counts by its least value, or by its greatest where the order is descending;
- a date or a time is compared with a day, a month or a quarter as a whole;
- a text whose spelling in the column is not known is compared whatever its case.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from relserve.linking.dates import Period
from relserve.linking.handles import Handles
from relserve.linking.joins import JoinError, from_clause
from relserve.linking.literals import QuestionValue
from relserve.linking.schema import NUMBERS, Column, ColumnKind, Schema, Table, literal, quoted

_COMPARISONS = ("=", "!=", ">", "<", ">=", "<=")
_AGGREGATES = ("avg", "sum", "min", "max")


class PointerError(ValueError):
    """The schema or the question does not fit a prompt, or an answer is none."""


class _Operand(NamedTuple):
    """What a condition compares: SQL, its kind, and the column where it is one."""

    sql: str
    kind: ColumnKind
    column: tuple[Table, Column] | None = None
    is_aggregate: bool = False


class AnswerWriter:
    """Reads an answer word by word and writes DuckDB SQL."""

    def __init__(self, answer: str, schema: Schema, handles: Handles, values: Sequence[QuestionValue]):
        self._words = answer.split()
        self._at = 0
        self._schema = schema
        self._handles = handles
        self._values = values
        self._tables = self._from_tables()
        self._distinct = False
        self._plain: list[str] = []  # columns in SELECT
        self._aggregates = 0  # aggregates in SELECT
        self._keys: list[str] = []  # columns in GROUP BY

    def statement(self) -> str:
        """The whole SELECT. Raises PointerError."""
        items, tables, where = self._selection(), self._from(), self._where()
        group, order, limit = self._group(), self._order(), self._limit()
        if self._at < len(self._words):
            raise PointerError(f'the answer goes on after its end: "{" ".join(self._words[self._at :])}"')
        if self._keys and not group:  # distinct rows in the order of another column
            group = f"GROUP BY {', '.join(self._keys)}"
        head = "SELECT DISTINCT" if self._distinct else "SELECT"
        return " ".join(part for part in (head, items, tables, where, group, order, limit) if part)

    # Words

    def _next(self) -> str:
        if self._at == len(self._words):
            raise PointerError("the answer ends in the middle")
        self._at += 1
        return self._words[self._at - 1]

    def _accept(self, *words: str) -> bool:
        if tuple(self._words[self._at : self._at + len(words)]) != words:
            return False
        self._at += len(words)
        return True

    def _expect(self, *words: str) -> None:
        if not self._accept(*words):
            raise PointerError(f'"{" ".join(words)}" is missing before "{" ".join(self._words[self._at :])}"')

    # Tables and columns

    def _from_tables(self) -> tuple[int, ...]:
        """The tables after "from", read ahead: they decide how columns are written."""
        if "from" not in self._words:
            raise PointerError('the answer has no "from"')
        rest = self._words[self._words.index("from") + 1 :]
        named = [rest[0] if rest else ""]
        while rest[1 : 1 + 1] == ["join"] and len(rest) > 2:
            rest = rest[2:]
            named.append(rest[0])
        places = tuple(self._table(handle) for handle in named)
        if len(places) > 2 or len(set(places)) < len(places):
            raise PointerError("an answer joins two different tables at most")
        return places

    def _table(self, handle: str) -> int:
        at = self._handles.table(handle)
        if at is None:
            raise PointerError(f'"{handle}" is no table of the schema')
        return at

    def _column(self) -> _Operand:
        handle = self._next()
        at = self._handles.column(handle)
        if at is None:
            raise PointerError(f'"{handle}" is no column of the schema')
        if self._schema.table_of[at] not in self._tables:
            raise PointerError(f'the table of "{handle}" is not in FROM')
        table, column = self._schema.columns[at]
        name = quoted(column.name)
        sql = f"{quoted(table.name)}.{name}" if len(self._tables) > 1 else name
        return _Operand(sql, column.kind, (table, column))

    def _operand(self) -> _Operand:
        if self._accept("count", "(", "*", ")"):
            return _Operand("count(*)", ColumnKind.INT, is_aggregate=True)
        if self._accept("count", "(", "distinct"):
            column = self._column()
            self._expect(")")
            return _Operand(f"count(DISTINCT {column.sql})", ColumnKind.INT, is_aggregate=True)
        for name in (*_AGGREGATES, "year"):
            if self._accept(name, "("):
                column = self._column()
                self._expect(")")
                kind = column.kind if name in ("min", "max") else ColumnKind.NUM
                return _Operand(f"{name}({column.sql})", kind, is_aggregate=name != "year")
        return self._column()

    # Clauses

    def _selection(self) -> str:
        """The items of SELECT; what kind they are matters to the later clauses."""
        self._expect("select")
        if self._accept("*"):
            return f"{quoted(self._schema.tables[self._tables[0]].name)}.*" if len(self._tables) > 1 else "*"
        self._distinct = self._accept("distinct")
        items = [self._operand()]
        while self._accept(","):
            items.append(self._operand())
        self._plain = [item.sql for item in items if not item.is_aggregate]
        self._aggregates = len(items) - len(self._plain)
        return ", ".join(item.sql for item in items)

    def _from(self) -> str:
        self._at += 2 * len(self._tables)
        try:
            return from_clause(self._schema, self._tables)
        except JoinError as error:
            raise PointerError(str(error)) from error

    def _where(self) -> str:
        """WHERE: "or" binds closer than "and", as in "from Paris or London and above 4"."""
        if not self._accept("where"):
            return ""
        groups = [[self._condition()]]
        while self._words[self._at : self._at + 1] in (["and"], ["or"]):
            if self._next() == "and":
                groups.append([])
            groups[-1].append(self._condition())
        written = [" OR ".join(group) for group in groups]
        several = len(groups) > 1
        return "WHERE " + " AND ".join(
            f"({text})" if several and len(group) > 1 else text
            for text, group in zip(written, groups, strict=True)
        )

    def _group(self) -> str:
        """GROUP BY the column asked for, and those selected: a team's name beside its number."""
        if not self._accept("group", "by"):
            if self._plain and self._aggregates:
                raise PointerError("an aggregate stands beside a column without a group")
            return ""
        key = self._operand()
        if key.is_aggregate:
            raise PointerError("rows are grouped by a column, not by an aggregate")
        self._keys = list(dict.fromkeys([key.sql, *self._plain]))
        having = f" HAVING {self._comparison()}" if self._accept("having") else ""
        return f"GROUP BY {', '.join(self._keys)}{having}"

    def _order(self) -> str:
        """ORDER BY; among groups and distinct rows another column counts by its first value."""
        if not self._accept("order", "by"):
            return ""
        item = self._operand()
        down = self._accept("desc")
        if item.is_aggregate or not (self._keys or self._distinct or self._aggregates):
            return f"ORDER BY {item.sql}{' DESC' if down else ''}"
        if self._aggregates and not self._keys:
            raise PointerError("a single row has no order")
        if self._distinct and item.sql not in self._plain:
            self._keys, self._distinct = self._plain, False
        sql = (
            f"{'max' if down else 'min'}({item.sql})"
            if self._keys and item.sql not in self._keys
            else item.sql
        )
        return f"ORDER BY {sql}{' DESC' if down else ''}"

    def _limit(self) -> str:
        if not self._accept("limit"):
            return ""
        if self._accept("1"):
            return "LIMIT 1"
        value = self._value()
        if not value.is_count:
            raise PointerError(f'"{value.text}" is no number of rows')
        return f"LIMIT {value.text}"

    # Conditions

    def _value(self) -> QuestionValue:
        handle = self._next()
        if handle[:1] != "v" or not handle[1:].isdecimal() or int(handle[1:]) >= len(self._values):
            raise PointerError(f'"{handle}" is no value of the question')
        return self._values[int(handle[1:])]

    def _condition(self) -> str:
        if self._accept("contains", "("):
            column = self._column()
            self._expect(",")
            value = self._value()
            self._expect(")")
            return f"{_as_text(column)} ILIKE {_pattern(value.text)}"
        return self._comparison()

    def _comparison(self) -> str:
        left = self._operand()
        if self._accept("is", "not", "null"):
            return f"{left.sql} IS NOT NULL"
        if self._accept("is", "null"):
            return f"{left.sql} IS NULL"
        if self._accept("between"):
            low = self._value()
            self._expect("and")
            return _between(left, low, self._value())
        sign = self._next()
        if sign not in _COMPARISONS:
            raise PointerError(f'"{sign}" is no comparison')
        if left.kind is ColumnKind.BOOL:
            return f"{left.sql} {sign} {self._truth()}"
        return _compared(left, sign, self._value())

    def _truth(self) -> str:
        word = self._next()
        if word not in ("true", "false"):
            raise PointerError(f'"{word}" is neither true nor false')
        return word


def _compared(left: _Operand, sign: str, value: QuestionValue) -> str:
    sql_sign = "<>" if sign == "!=" else sign
    if left.kind in NUMBERS:
        return f"{left.sql} {sql_sign} {_number(value)}"
    if left.kind is ColumnKind.DATE:
        return _on_days(left, sign, *_days(value))
    if left.column is None or left.kind is not ColumnKind.TEXT or sign not in ("=", "!="):
        raise PointerError(f'{left.sql} cannot be compared by "{sign}" with "{value.text}"')
    table, column = left.column
    known = value.spellings(table.name, column.name)
    if not known:
        return f"lower({_as_text(left)}) {sql_sign} lower({literal(value.text)})"
    if len(known) == 1:
        return f"{left.sql} {sql_sign} {literal(known[0])}"
    return f"{left.sql} {'IN' if sign == '=' else 'NOT IN'} ({', '.join(map(literal, known))})"


def _between(left: _Operand, low: QuestionValue, high: QuestionValue) -> str:
    if left.kind in NUMBERS:
        return f"{left.sql} BETWEEN {_number(low)} AND {_number(high)}"
    if left.kind is ColumnKind.DATE:
        return f"{_as_date(left)} BETWEEN {_day(_days(low)[0])} AND {_day(_days(high)[1])}"
    raise PointerError(f"{left.sql} has no range")


def _on_days(left: _Operand, sign: str, first: date, last: date) -> str:
    """A comparison with a day, or with a period: after it means after its last day."""
    column = _as_date(left)
    if sign in ("=", "!=") and first != last:
        return f"{column} {'' if sign == '=' else 'NOT '}BETWEEN {_day(first)} AND {_day(last)}"
    return f"{column} {'<>' if sign == '!=' else sign} {_day(last if sign in ('>', '<=') else first)}"


def _number(value: QuestionValue) -> str:
    if value.number is None:
        raise PointerError(f'"{value.text}" is no number')
    return value.number


def _days(value: QuestionValue) -> Period:
    if value.period is None:
        raise PointerError(f'"{value.text}" is no date')
    return value.period


def _day(day: date) -> str:
    return f"DATE '{day.isoformat()}'"


def _as_date(operand: _Operand) -> str:
    """Whole days, where the column holds times too."""
    if operand.column is not None and operand.column[1].sql_type.upper() == "DATE":
        return operand.sql
    return f"CAST({operand.sql} AS DATE)"


def _as_text(operand: _Operand) -> str:
    if operand.column is not None and operand.column[1].sql_type.upper().startswith("VARCHAR"):
        return operand.sql
    return f"CAST({operand.sql} AS VARCHAR)"


def _pattern(text: str) -> str:
    """A pattern that finds `text` anywhere, its own signs taken as they are."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return literal(f"%{escaped}%") + (" ESCAPE '\\'" if escaped != text else "")
