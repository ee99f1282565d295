"""The SQL functions of one connection: a UDF each in the catalog, a TEMP macro each that gives it its name.

TEMP macros belong to one connection and never reach the user's file; UDFs belong to the whole database
instance, so their names carry a number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.types as kinds
from duckdb.func import FunctionNullHandling, PythonUDFType

from relserve.call.options import FUNCTIONS
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA
from relserve_duckdb.text.call_limits import AGGREGATE, AGGREGATE_LIST, ASCENDING, MAX_VALUES
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.site import UNSET, sql_type_of

_numbers = itertools.count(1)
# DuckDB's catalog keeps calling what a connection registered after freeing it with that connection
# (duckdb-python#530), so the callables of each number live here until they are removed from the catalog
_kept: dict[int, list[Callable[..., Any]]] = {}
_SQL_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "timestamp[us]": "TIMESTAMP"}


class Slots(NamedTuple):
    """What a macro takes between its template and its options, and what it gives its UDF for that."""

    taken: Sequence[str]
    given: Sequence[str]


# One more than allowed, so that a ninth value meets an error of ours and not an option.
_VALUES = [f"a{i}" for i in range(MAX_VALUES + 1)]
ROW = Slots([f"{slot} := {{'{UNSET}': true}}" for slot in _VALUES], _VALUES)
# In the order of the values: DuckDB collects a group in any order, and its prompt must be the same twice.
GROUP = Slots(
    ["value"], ["list(value::VARCHAR ORDER BY value::VARCHAR ASC) FILTER (WHERE value IS NOT NULL)"]
)
LIST = Slots(["value", f"{ASCENDING} := false"], ["value::VARCHAR[]", f"{ASCENDING}::BOOLEAN"])
# A schema as from_json takes it: JSON text. Given may be one of DuckDB's types or a STRUCT, too; where
# nothing is given, the UDF says so.
_SCHEMA = """CASE WHEN schema IS NULL THEN '"VARCHAR"'
    WHEN typeof(schema) = 'VARCHAR' AND json_valid(schema::VARCHAR) THEN schema::VARCHAR
    ELSE to_json(schema)::VARCHAR END"""


class Functions:
    """The UDFs of one connection and the macros that call them."""

    def __init__(self, state: ConnectionState) -> None:
        self.number = next(_numbers)
        self.state = state

    def udf_name(self, function: str) -> str:
        return f"__{function}_{self.number}"

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the UDFs; any connection of the instance could call them."""
        for function in FUNCTIONS:
            con.create_function(
                self.udf_name(function), self._keep(partial(_call, self.state, function)),
                None, sql_type_of(function),
                type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL, side_effects=False,
            )  # fmt: skip
        history = self.state.session.history
        for name, table, schema in (
            ("llm_queries", history.queries_table, QUERY_SCHEMA),
            ("llm_errors", history.errors_table, ERROR_SCHEMA),
        ):
            # side_effects keeps DuckDB from answering at plan time, once and for all
            con.create_function(
                self.udf_name(name), self._keep(partial(_rows_of, table)), ["INTEGER"], _list_type(schema),
                type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL, side_effects=True,
            )  # fmt: skip

    def create_macros(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the TEMP macros on one connection."""
        for function in FUNCTIONS:
            slots = GROUP if FUNCTIONS[function].aggregate else ROW
            con.execute(f"CREATE OR REPLACE TEMP MACRO {function}{self._signature(function, slots)}")
        con.execute(f"CREATE OR REPLACE TEMP MACRO {AGGREGATE_LIST}{self._signature(AGGREGATE, LIST)}")
        for name in ("llm_queries", "llm_errors"):
            call = f"SELECT unnest({self.udf_name(name)}(0), max_depth := 2)"
            con.execute(f"CREATE OR REPLACE TEMP MACRO {name}() AS TABLE {call}")

    def remove(self, con: duckdb.DuckDBPyConnection) -> None:
        """Take the UDFs out of the instance's catalog."""
        for name in (*FUNCTIONS, "llm_queries", "llm_errors"):
            con.remove_function(self.udf_name(name))
        _kept.pop(self.number, None)

    def _keep(self, call: Callable[..., Any]) -> Callable[..., Any]:
        _kept.setdefault(self.number, []).append(call)
        return call

    def _signature(self, function: str, slots: Slots) -> str:
        # the barrier makes DuckDB evaluate the cheap predicates of a WHERE first
        body = body_of(function, slots, self.udf_name(function))
        return f"{parameters_of(function, slots)} AS __internal_barrier({body})"


def parameters_of(function: str, slots: Slots) -> str:
    """The parameters of a function's macro: the template, the values, and each option as a named one."""
    named = [f"{name} := NULL" for name in FUNCTIONS[function].options]
    return f"(prompt, {', '.join([*slots.taken, *named])})"


def body_of(function: str, slots: Slots, udf_name: str, hidden: Sequence[str] = ()) -> str:
    """What a function's macro stands for: a call of its UDF, and what makes the type of the answer.

    Args:
        hidden: arguments before the values that have nothing to do with them.
    """
    spec = FUNCTIONS[function]
    fields = ", ".join(f"'{name}': {name}" for name in spec.options)
    given = ", ".join([*hidden, *slots.given])
    call = f"{udf_name}(prompt, to_json({{{fields}}})::VARCHAR, {given})"
    schema = _SCHEMA if "schema" in spec.options else f"'{spec.schema}'" if spec.schema else ""
    return f"from_json({call}, {schema})" if schema else call


def _call(state: ConnectionState, function: str, *columns: Any) -> Any:
    return state.call(function, columns)


def _rows_of(table: Callable[[], pa.Table], calls: Any) -> pa.Array:
    """The history's rows as a list of structs, once for each call (DuckDB has no table UDFs in Python)."""
    rows = _plain_times(table())
    structs = (
        rows.to_struct_array().combine_chunks() if rows.num_rows else pa.array([], pa.struct(rows.schema))
    )
    n = len(calls)
    repeated = pa.concat_arrays([structs] * n) if n != 1 else structs
    return pa.ListArray.from_arrays([i * len(structs) for i in range(n + 1)], repeated)


def _plain_times(table: pa.Table) -> pa.Table:
    """UTC times without a zone: DuckDB needs the pytz module to hand out times with one."""
    fields = [field.with_type(_plain_type(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if kinds.is_timestamp(kind) else kind


def _list_type(schema: pa.Schema) -> str:
    columns = ", ".join(f"{field.name} {_SQL_TYPES[str(_plain_type(field.type))]}" for field in schema)
    return f"STRUCT({columns})[]"
