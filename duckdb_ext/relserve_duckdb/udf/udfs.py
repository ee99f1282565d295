"""The UDFs in DuckDB's catalog: one set for a connection and its cursors, answered by the one that calls.

UDFs belong to the whole database instance, so their names carry a number, and any connection of the instance
could call them. Whose call a chunk belongs to is told by a key, an argument that nobody else knows: it stands
in a TEMP macro, which no other connection sees.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.types as kinds
from duckdb.func import FunctionNullHandling, PythonUDFType

from relserve.errors import UsageError
from relserve.session.batches import BATCH_SCHEMA
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA, USAGE_SCHEMA
from relserve.session.session import Session
from relserve.session.workflows import STEP_SCHEMA, WORKFLOW_SCHEMA
from relserve_duckdb.text.call_limits import CALLED
from relserve_duckdb.udf import calibrate_macro, cluster_macros
from relserve_duckdb.udf.calibrate_macro import CALIBRATE
from relserve_duckdb.udf.cluster_macros import CLUSTER
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.site import ARROW_TYPES, sql_type_of

States = dict[int, ConnectionState]
TABLES: dict[str, tuple[Callable[[Session], pa.Table], pa.Schema]] = {
    "llm_queries": (lambda session: session.history.queries_table(), QUERY_SCHEMA),
    "llm_errors": (lambda session: session.history.errors_table(), ERROR_SCHEMA),
    "llm_usage": (lambda session: session.history.usage_table(), USAGE_SCHEMA),
    "llm_workflows": (lambda session: session.history.workflows.workflows_table(), WORKFLOW_SCHEMA),
    "llm_steps": (lambda session: session.history.workflows.steps_table(), STEP_SCHEMA),
    "llm_batches": (Session.batches_table, BATCH_SCHEMA),
}
_KEY_BITS = 62
_numbering = threading.Lock()
# DuckDB's catalog keeps calling what a connection registered after freeing it with that connection
# (duckdb-python#530), so the callables of each number live here until they are removed from the catalog
_kept: dict[int, list[Callable[..., Any]]] = {}
_SQL_TYPES = {
    pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN",
    pa.timestamp("us"): "TIMESTAMP", pa.list_(pa.string()): "VARCHAR[]",
}  # fmt: skip


class Udfs:
    """The UDFs that a connection registers for itself and its cursors.

    Args:
        con: the connection; only it can take them out of the catalog again, and DuckDB closes its cursors
            with it.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.number = _free_number()
        self._con = con
        self._states: States = {}
        self._lock = threading.Lock()
        self._register()
        self._is_in_catalog = True

    def name_of(self, function: str) -> str:
        """The name by which SQL calls a UDF, which no macro of the same name can take from it."""
        return f"system.main.{self._name_of(function)}"

    def _name_of(self, function: str) -> str:
        return f"__{function}_{self.number}"

    def admit(self, state: ConnectionState) -> int:
        """The key under which a connection's calls are answered from now on."""
        key = secrets.randbits(_KEY_BITS)
        with self._lock:
            self._states[key] = state
        return key

    def dismiss(self, key: int, con: duckdb.DuckDBPyConnection) -> None:
        """A connection is closed; with the one that registered them, the UDFs leave the catalog.

        Args:
            con: the connection.
        """
        with self._lock:
            self._states.pop(key, None)
            if con is self._con and self._is_in_catalog:
                with suppress(duckdb.Error):
                    self._remove()
            if not self._states and not self._is_in_catalog:
                _kept.pop(self.number, None)  # until then a cursor's last result may still call them

    def _register(self) -> None:
        for function in CALLED:
            self._create(function, _answer(self._states, function), None, sql_type_of(function))
        for name, (table, schema) in TABLES.items():
            # side effects keep DuckDB from answering at plan time, once and for all
            rows_of = _listing(self._states, table)
            self._create(name, rows_of, ["BIGINT"], _list_type(schema), side_effects=True)
        kind = _struct_type(calibrate_macro.ROW)
        fit = _calibrating(self._states)
        self._create(CALIBRATE, fit, calibrate_macro.PARAMETERS, kind, side_effects=True)
        put = _clustering(self._states)
        kind = _list_type(cluster_macros.ROW)
        self._create(CLUSTER, put, cluster_macros.PARAMETERS, kind, side_effects=True)

    def _create(
        self,
        name: str,
        answer: Callable[..., Any],
        parameters: list[Any] | None,
        result: str,
        side_effects: bool = False,
    ) -> None:
        _kept[self.number].append(answer)
        self._con.create_function(
            self._name_of(name), answer, parameters, result,
            type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL, side_effects=side_effects,
        )  # fmt: skip

    def _remove(self) -> None:
        for name in (*CALLED, *TABLES, CALIBRATE, CLUSTER):
            self._con.remove_function(self._name_of(name))
        self._is_in_catalog = False


def _free_number() -> int:
    """The least number of those that stand in no catalog, so that few are ever used; see `macros`."""
    with _numbering:
        number = next(each for each in itertools.count(1) if each not in _kept)
        _kept[number] = []
        return number


# Lambdas, for DuckDB looks at a callable's signature, and evaluates its annotations: of a partial that takes
# as long as all else that it does to register it.
def _answer(states: States, function: str) -> Callable[..., Any]:
    return lambda template, options, keys, *values: _call(states, function, template, options, keys, *values)


def _listing(states: States, table: Callable[[Session], pa.Table]) -> Callable[..., Any]:
    return lambda keys: _rows_of(states, table, keys)


def _calibrating(states: States) -> Callable[..., Any]:
    return lambda keys, names, labelled: calibrate_macro.calibrated(
        _state_of(states, keys), names.to_pylist(), labelled.to_pylist()
    )


def _clustering(states: States) -> Callable[..., Any]:
    return lambda keys, numbers, rows: cluster_macros.clustered(
        _state_of(states, keys), numbers.to_pylist(), rows
    )


def _call(states: States, function: str, template: Any, options: Any, keys: Any, *values: Any) -> Any:
    """The answers of one chunk."""
    if len(template) == 0:
        return pa.nulls(0, ARROW_TYPES[sql_type_of(function)])
    return _state_of(states, keys).call(function, (template, options, *values))


def _state_of(states: States, keys: Any) -> ConnectionState:
    """The connection that calls."""
    key = keys[0].as_py()
    state = states.get(key) if isinstance(key, int) else None
    if state is None:
        raise UsageError("this function belongs to another connection; call llm() and its siblings instead")
    return state


def _rows_of(states: States, table: Callable[[Session], pa.Table], keys: Any) -> pa.Array:
    """The table's rows as a list of structs, once for each call (DuckDB has no table UDFs in Python)."""
    rows = _plain_times(table(_state_of(states, keys).session))
    structs = (
        rows.to_struct_array().combine_chunks() if rows.num_rows else pa.array([], pa.struct(rows.schema))
    )
    n = len(keys)
    repeated = pa.concat_arrays([structs] * n) if n != 1 else structs
    return pa.ListArray.from_arrays([i * len(structs) for i in range(n + 1)], repeated)


def _plain_times(table: pa.Table) -> pa.Table:
    """UTC times without a zone: DuckDB needs the pytz module to hand out times with one."""
    fields = [field.with_type(_plain_type(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if kinds.is_timestamp(kind) else kind


def _list_type(schema: Iterable[pa.Field]) -> str:
    return f"{_struct_type(schema)}[]"


def _struct_type(fields: Iterable[pa.Field]) -> str:
    columns = ", ".join(f"{field.name} {_SQL_TYPES[_plain_type(field.type)]}" for field in fields)
    return f"STRUCT({columns})"
