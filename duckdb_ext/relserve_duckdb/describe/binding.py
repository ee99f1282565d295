"""Binding one statement, with types for the parameters that its text leaves open."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress

import duckdb
from sqlglot import exp

from relserve.call.option_specs import OPTIONS
from relserve_duckdb.describe.casts import cast, null, without_casts
from relserve_duckdb.describe.description import Description
from relserve_duckdb.describe.prepared import BoundStatement
from relserve_duckdb.text.calls import LlmCall, find_calls
from relserve_duckdb.text.parameters import find_parameters, numbered, with_parameters
from relserve_duckdb.text.statements import parse_tree

MOST = 65_535  # parameters: as many values PostgreSQL's protocol carries
TEXT = "VARCHAR"  # of a parameter about which nothing is known, as in PostgreSQL
_IN = re.compile(r"(?i)(?<![\w$])in\s*+\((?:\s*+\$\d++\s*+,)*+\s*+\$\d++\s*+\)")  # of parameters alone
_OTHERWISE = (TEXT, "BIGINT", "INTEGER", "DOUBLE", "TIMESTAMP", "VARCHAR[]")  # where a guess does not do

Types = Mapping[str, str]
_COUNT = "BIGINT"  # of LIMIT and OFFSET
_SAME = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.Predicate)


class StatementBinding:
    """One statement that DuckDB binds as often as it takes.

    Args:
        prepare: has DuckDB bind a text.
        types: of its parameters, as far as the caller says them; those win.
        counts: whether it gives no more than a count, whatever the types are.
    """

    def __init__(
        self, prepare: Callable[[str], BoundStatement], text: str, types: Sequence[str | None], counts: bool
    ) -> None:
        self.prepare, self.text, self.counts = prepare, text, counts
        self.places = find_parameters(text)
        self.names = _in_order(list(dict.fromkeys(place.name for place in self.places)))
        self.given = {name: kind for name, kind in zip(self.names, types, strict=False) if kind is not None}

    def describe(self) -> Description:
        """What the statement gives and takes; what is no row of its own, too, such as the count of an INSERT.

        Raises:
            duckdb.Error: it is wrong, or its columns depend on the values of its parameters.
        """
        bare = self.prepare(self.text)
        told = {name: kind for name, kind in bare.parameters.items() if kind is not None}
        open_ = {place.name for place in self.places} - told.keys() - self.given.keys()
        unknown = [name for name in self.names if name in open_]
        retyped: Types = {name: kind for name, kind in self.given.items() if told.get(name) != kind}
        if bare.columns is not None and not unknown:  # DuckDB takes four times as long to bind so many casts
            retyped = {} if self.counts else self._deciding(retyped)
        if bare.columns is not None and not unknown and not retyped:
            return self._description(bare.columns, told, self.text)
        guessed = self._guessed(unknown)
        for types in self._attempts(retyped, guessed):
            with suppress(duckdb.Error):
                return self._typed(bare, told, types)
        return self._typed(bare, told, {**retyped, **guessed})  # raises what the likeliest types met

    def _deciding(self, retyped: Types) -> Types:
        """Those that may decide the type of a column: of what is in a list after IN only a BOOLEAN comes."""
        spans = [found.span() for found in _IN.finditer(self.text)] if retyped else []
        if not spans:
            return retyped
        starts = [start for start, _ in spans]
        ends = [0, *(end for _, end in spans)]
        others = {place.name for place in self.places if place.start >= ends[bisect(starts, place.start)]}
        return {name: kind for name, kind in retyped.items() if name in others}

    def _guessed(self, unknown: Sequence[str]) -> dict[str, str]:
        """Types for parameters that DuckDB leaves open."""
        if not unknown:
            return {}
        text = numbered(self.text)
        forms = {name: cast(kind) for name, kind in self.given.items()} | _guesses(text, unknown)
        found: dict[str, str | None] = {}
        with suppress(duckdb.Error):
            found = (
                self.prepare(with_parameters(text, find_parameters(text), forms)).parameters if forms else {}
            )
        return {name: _wide(found.get(name) or TEXT) for name in unknown}

    def _attempts(self, retyped: Types, guessed: Types) -> Iterator[Types]:
        """Types of parameters to try, the likeliest first."""
        yield {**retyped, **guessed}
        if retyped:
            yield guessed
        yield {**retyped, **{name: self._fitting(name, guessed) for name in guessed}}
        for kind in _OTHERWISE if guessed else ():
            yield {**retyped, **dict.fromkeys(guessed, kind)}

    def _fitting(self, name: str, guessed: Types) -> str:
        """The first type of a parameter that DuckDB takes where the other guesses are NULL."""
        for kind in (guessed[name], *_OTHERWISE):
            forms = {**dict.fromkeys(guessed, "NULL"), name: cast(kind)}
            with suppress(duckdb.Error):
                self.prepare(self._with({**{name: cast(each) for name, each in self.given.items()}, **forms}))
                return kind
        return guessed[name]

    def _typed(self, bare: BoundStatement, told: Types, types: Types) -> Description:
        """The statement with these types of parameters."""
        every = {**told, **self.given, **types}
        for casts in (types, every):
            runnable = self._with({name: cast(kind) for name, kind in casts.items()})
            columns = self.prepare(runnable).columns
            if columns is not None:
                plain = [(without_casts(name, casts), kind) for name, kind in columns]
                if bare.columns is not None and plain == list(bare.columns):
                    return self._description(plain, every, self.text)
                return self._description(plain, every, runnable, casts)
        # a table function wants values before it tells its columns; a NULL of their type does for most
        columns = self.prepare(self._with({name: null(name, kind) for name, kind in every.items()})).columns
        plain = [(without_casts(name, every), kind) for name, kind in columns or ()]
        return self._description(plain, every, runnable, every)

    def _description(
        self, columns: Sequence[tuple[str, str]], told: Types, runnable: str, casts: Types | None = None
    ) -> Description:
        types = {**told, **self.given}
        return Description(
            list(columns), [types.get(name) for name in self.names], runnable, self.text, casts or {}
        )

    def _with(self, forms: Mapping[str, str]) -> str:
        return with_parameters(self.text, self.places, forms)


def _in_order(names: list[str]) -> list[str]:
    """The names of parameters, numbers in their order without gaps.

    Raises:
        duckdb.BinderException: a number is so large that nobody gives so many values.
    """
    if all(name.isdigit() for name in names):
        for name in names:
            if len(name) > len(str(MOST)) or int(name) > MOST:
                raise duckdb.BinderException(
                    f"Binder Error: there is no parameter ${name[:20]}: a statement takes at most {MOST:,}"
                )
        return [str(i) for i in range(1, max(map(int, names), default=0) + 1)]
    return names


def _wide(kind: str) -> str:
    """A type that loses nothing of a value: the digits of a constant say nothing of those of a parameter."""
    return "DOUBLE" if kind.startswith("DECIMAL") else kind


def _guesses(text: str, unknown: Container[str]) -> dict[str, str]:
    """Forms of parameters that give them a type, as far as the text suggests one.

    A parameter is taken to be of the type of what it is compared or reckoned with, as in PostgreSQL. DuckDB
    alone knows that type, so the form is a COALESCE of the two.

    Args:
        text: with its parameters numbered: $1, not ?.
        unknown: the parameters to guess.
    """
    root = parse_tree(text)
    if root is None:
        return {}
    calls = find_calls(root)
    found: dict[str, str] = {}
    for node in root.find_all(exp.Placeholder):
        form = _form(node, calls) if node.name in unknown else None
        if form is not None:
            found.setdefault(node.name, form)
    return found


def _form(node: exp.Placeholder, calls: list[LlmCall]) -> str | None:
    own: exp.Expr = node
    while isinstance(own.parent, exp.Paren):
        own = own.parent
    match own.parent:
        case exp.Limit() | exp.Offset():
            return cast(_COUNT)
        case exp.Any() | exp.All() as every if isinstance(every.parent, exp.Binary):
            return f"COALESCE({{}}, [{_other(every.parent, every)}])"
        case exp.Binary() as both if isinstance(both, _SAME) and not isinstance(both, exp.Is):
            return f"COALESCE({{}}, {_other(both, own)})"
    return _of_option(own, calls)


def _other(both: exp.Binary, one: exp.Expr) -> str:
    """The other operand."""
    other = both.expression if both.this is one else both.this
    return str(other.sql("duckdb"))


def _of_option(node: exp.Expr, calls: list[LlmCall]) -> str | None:
    """The form of a parameter that is an option of an llm call."""
    for call in calls:
        for name, given in call.options.items():
            if given is node and name in OPTIONS and OPTIONS[name].sql_type != "ANY":
                return cast(OPTIONS[name].sql_type)
    return None
