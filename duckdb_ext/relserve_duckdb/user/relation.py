"""A DuckDB relation that prefetches before it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import FrameType
from typing import Any, Protocol

import duckdb

from relserve_duckdb.rehearse.reading import Reading
from relserve_duckdb.udf.client import Variables

# what reads all rows; what is in neither set only builds another relation or tells about columns
_EXECUTING = frozenset(
    "fetchall fetchdf fetchnumpy fetch_arrow_table fetch_arrow_reader fetch_record_batch df to_df pl arrow "
    "to_arrow_table to_arrow_reader to_dicts iter_rows torch tf create to_table insert_into "
    "write_csv to_csv write_parquet to_parquet materialize".split()
)
_SHOWING = frozenset(["show", "preview", "_repr_html_", "_repr_mimebundle_"])
_PROJECTING = frozenset("aggregate project select".split())  # whose first text is a SELECT list
_WRITING = frozenset("create to_table insert insert_into update".split())
_NAMING = frozenset(["create_view", "query"])  # make a view
MAX_SHOWN = 10_000  # DuckDB evaluates so many rows to show some of them


class RelationOwner(Protocol):
    """The connection that relations belong to, as far as they need it."""

    def variables(self, frame: FrameType) -> Variables:
        """The variables that an expression may name when it is given in this frame."""

    def perform(self, relation: duckdb.DuckDBPyRelation, reading: Reading, run: Callable[[], Any]) -> Any:
        """Prefetch what the relation will ask, then run."""

    def explained(self, relation: duckdb.DuckDBPyRelation, reading: Reading) -> str:
        """The relation's plan and what reading it would ask; "" where it makes no llm call."""

    def runnable(self, query: str) -> str:
        """What to hand to DuckDB for a text."""

    def changing(self) -> AbstractContextManager[None]:
        """What may change data runs inside."""

    def learn(self, made: str) -> None:
        """Learn what was made as by a statement that begins so."""


class Relation:
    """A `duckdb.DuckDBPyRelation` as a proxy: methods that read rows prefetch first."""

    def __init__(self, raw: duckdb.DuckDBPyRelation, owner: RelationOwner, reading: Reading) -> None:
        self._raw, self._owner, self._reading = raw, owner, reading

    @property
    def __relserve_raw__(self) -> duckdb.DuckDBPyRelation:
        return self._raw

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns; counting the rows runs the query."""
        return self._count(lambda: self._raw.shape)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name == "_raw":  # not there yet, as while being copied
            raise AttributeError(name)
        found = getattr(self._raw, name)
        return partial(self._call, name, found) if callable(found) else self._wrap(found)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._raw)})

    def __getitem__(self, key: Any) -> Any:
        return self._wrap(self._raw[key])

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def __len__(self) -> int:
        return int(self._count(lambda: len(self._raw)))

    def __repr__(self) -> str:
        return str(self._show(lambda: repr(self._raw)))

    def __str__(self) -> str:
        return str(self._show(lambda: str(self._raw)))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = self._perform(self._raw.to_arrow_reader)
        return reader.__arrow_c_stream__(requested_schema)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """The plan; asks nothing unless it is to be analysed, which runs the query.

        Without arguments it shows the llm calls as users write them, and ends with what they would ask.
        """
        if not args and not kwargs and (text := self._owner.explained(self._raw, self._reading)):
            return text
        reading = self._reading if "analyze" in f"{args} {kwargs}".lower() else Reading.PLAN
        return str(self._owner.perform(self._raw, reading, lambda: self._raw.explain(*args, **kwargs)))

    def _call(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        variables = self._owner.variables(
            sys._getframe(1)
        )  # `filter("x IN (FROM my_dataframe)")` names one of them
        named = {key: unwrapped(value) for key, value in kwargs.items()}
        run = partial(variables.call, method, *map(unwrapped, self._runnable(name, args)), **named)
        if name in _SHOWING:
            return self._show(run)
        with self._owner.changing() if name in _WRITING else nullcontext():
            result = self._perform(run) if name in _EXECUTING else run()
        if name in _NAMING:
            self._owner.learn("create view")
        others = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Relation)]
        return self._wrap(result, *others)

    def _runnable(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a method, those that are SQL as DuckDB can run them."""
        match name, args:
            case "query", (str(view), str(query)):
                return view, self._owner.runnable(query)
            case _, (str(items), *others) if name in _PROJECTING:
                return self._owner.runnable(f"SELECT {items}").removeprefix("SELECT "), *others
        return args

    def _perform(self, run: Callable[[], Any]) -> Any:
        return self._owner.perform(self._raw, self._reading, run)

    def _show(self, run: Callable[[], Any]) -> Any:
        return self._owner.perform(self._raw.limit(MAX_SHOWN), self._reading, run)

    def _count(self, run: Callable[[], Any]) -> Any:
        return self._owner.perform(self._raw.aggregate("count(*)"), self._reading, run)

    def _wrap(self, value: Any, *others: Relation) -> Any:
        if not isinstance(value, duckdb.DuckDBPyRelation):
            return value
        once = any(other._reading is Reading.ONCE for other in others)
        return Relation(value, self._owner, Reading.ONCE if once else self._reading)


def reading_of(relation: Relation) -> Reading:
    """What reading a relation's rows takes (no attribute of it: its columns are)."""
    return relation._reading


def unwrapped(value: Any) -> Any:
    """DuckDB's own object behind a proxy."""
    return getattr(value, "__relserve_raw__", value)
