"""The SQL functions of one connection: TEMP macros, which give the UDFs in the catalog their names.

TEMP macros belong to one connection and never reach the user's file. What stands in them is looked up where
they are called, so every function has its catalog and schema before it: a macro `to_json` of the database's
own would otherwise take its place, and with it the prompt and the key. Nobody can define anything in
`system.main`, and nobody else in this connection's `temp.main`. DuckDB looks up `{..}`, `[..]` and operators
such as `||` as functions too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb

from relserve.call.decided import FIELD_TYPES, MASSES
from relserve.call.decisions import LABEL_MASS
from relserve.call.options import FUNCTIONS, FunctionSpec
from relserve.call.questions import KINDS
from relserve.call.verbatim import PLACED
from relserve_duckdb.text.call_limits import (
    ASCENDING,
    LISTS,
    MAX_VALUES,
    RERANK,
    TEXT2SQL_QUERY,
    TOP,
    TOPICS,
)
from relserve_duckdb.text.question_calls import QUESTION
from relserve_duckdb.text.question_options import ROW_NAMES
from relserve_duckdb.udf import (
    calibrate_macro,
    cluster_macros,
    evaluate_macro,
    ranking_macros,
    similar_macro,
)
from relserve_duckdb.udf.calibrate_macro import CALIBRATE
from relserve_duckdb.udf.cluster_macros import CLUSTER
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.site import UNREADABLE, UNSET
from relserve_duckdb.udf.udfs import TABLES, Udfs

KEY = "temp.main.__llm_connection()"  # the macro that holds a connection's key


class Slots(NamedTuple):
    """What a macro takes between template and options, and what it gives its UDF for that.

    Attributes:
        options: what it gives for the options, of their JSON.
    """

    taken: Sequence[str]
    given: Sequence[str]
    options: str = "{}"


# One more than allowed, so that a ninth value meets an error of ours and not an option.
_VALUES = [f"a{i}" for i in range(MAX_VALUES + 1)]
# Types that DuckDB hands to a UDF as their bytes, or without their offset from UTC; inside lists and structs
# the first two come whole. All values are looked at in one CASE, for each takes time to bind. DuckDB knows
# the types by then: its plan keeps of the CASE the options alone.
_UNREADABLE = r"__relserve_\d (VARIANT|GEOMETRY(\([^()]*\))?)[,)]|[ (](BIT|TIME WITH TIME ZONE)(\[\d*\])*[,)]"
_KINDS = "system.main.typeof(system.main.struct_pack({}))".format(
    ", ".join(f"__relserve_{i} := {value}" for i, value in enumerate(_VALUES))
)
_FOUND = f"system.main.regexp_extract({_KINDS}, '(VARIANT|GEOMETRY|BIT|TIME WITH TIME ZONE)')"
_CHECKED = (  # no error(), which is volatile and may stand in no PARTITION BY
    f"CASE WHEN system.main.regexp_matches({_KINDS}, '{_UNREADABLE}') "
    f"THEN system.main.concat('{UNREADABLE}', {_FOUND}) ELSE {{}} END"
)
ROW = Slots([f"{slot} := system.main.struct_pack({UNSET} := true)" for slot in _VALUES], _VALUES, _CHECKED)
# In the order of the values: DuckDB collects a group in any order, and its prompt must be the same twice.
GROUP = Slots(
    ["value"],
    ["system.main.list(value::VARCHAR ORDER BY value::VARCHAR ASC) FILTER (WHERE value IS NOT NULL)"],
)
LIST = Slots(["value", f"{ASCENDING} := false"], ["value::VARCHAR[]", f"{ASCENDING}::BOOLEAN"])
# A schema as from_json takes it: JSON text. Given may be one of DuckDB's types or a STRUCT, too; where
# nothing is given, the UDF says so.
_SCHEMA = """CASE WHEN schema IS NULL THEN '"VARCHAR"'
    WHEN system.main.typeof(schema) = 'VARCHAR' AND system.main.json_valid(schema::VARCHAR)
        THEN schema::VARCHAR
    ELSE system.main.to_json(schema)::VARCHAR END"""


_PLAIN: Mapping[str, Callable[[], str]] = {  # the table macros that are SQL over the others
    evaluate_macro.EVALUATE: evaluate_macro.definition,
    similar_macro.SIMILAR: similar_macro.similar,
    similar_macro.DEDUP: similar_macro.dedup,
    similar_macro.SIM_JOIN: similar_macro.sim_join,
    TOP: ranking_macros.top,
    RERANK: ranking_macros.rerank,
}
_OVER_UDFS = (  # table macros, and the UDF that each calls
    (CALIBRATE, CALIBRATE, calibrate_macro.definition),
    (CLUSTER, CLUSTER, cluster_macros.cluster),
    (TOPICS, CLUSTER, cluster_macros.topics),
)
NAMES = frozenset([
    *FUNCTIONS, *LISTS.values(), TEXT2SQL_QUERY, *TABLES, *_PLAIN, *(name for name, *_ in _OVER_UDFS),
    "__llm_connection",
])  # fmt: skip
_made: dict[int, list[duckdb.Statement]] = {}  # by the number of the UDFs, of which few are in use at once


class Functions:
    """The macros of one connection, which call the UDFs that it shares with its cursors.

    Args:
        of: the functions of the connection that this one is a cursor of; None: it registers UDFs.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, state: ConnectionState, of: Functions | None = None
    ) -> None:
        self._con = con
        self._udfs: Udfs = of._udfs if of else Udfs(con)
        self._macros: list[duckdb.Statement] = of._macros if of else _parsed_once(con, self._udfs)
        self._key = self._udfs.admit(state)
        self.create_macros(con)

    def create_macros(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the TEMP macros on one connection."""
        con.execute(f"CREATE OR REPLACE TEMP MACRO {KEY} AS {self._key}::BIGINT")
        for macro in self._macros:
            con.execute(macro)

    @property
    def may_be_called(self) -> bool:
        """Whether somebody reads the connection's last result."""
        try:
            self._con.sql("SELECT 1").fetchall()  # which DuckDB refuses then
        except duckdb.ConnectionException:
            return False  # it was closed
        except duckdb.Error:
            return True
        return False

    def close(self) -> None:
        """Nobody calls them any more."""
        self._udfs.dismiss(self._key, self._con)


def _parsed_once(con: duckdb.DuckDBPyConnection, udfs: Udfs) -> list[duckdb.Statement]:
    """What creates the macros: the same for all with UDFs of a number, for parsing takes half of the time."""
    if udfs.number not in _made:
        _made[udfs.number] = list(_parsed(con, udfs))
    return _made[udfs.number]


def _parsed(con: duckdb.DuckDBPyConnection, udfs: Udfs) -> Iterator[duckdb.Statement]:
    for function, spec in FUNCTIONS.items():
        signature = _signature(function, GROUP if spec.aggregate else ROW, udfs)
        yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {function}{signature}")
    for function, name in LISTS.items():
        signature = _signature(function, LIST, udfs)
        yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {name}{signature}")
    signature = _question_signature(udfs)
    yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {TEXT2SQL_QUERY}{signature}")
    for name in TABLES:
        call = f"SELECT system.main.unnest({udfs.name_of(name)}({KEY}), max_depth := 2)"
        yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {name}() AS TABLE {call}")
    for name, definition in _PLAIN.items():
        yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {name}{definition()}")
    for name, udf, made in _OVER_UDFS:
        body = made(udfs.name_of(udf), KEY)
        yield from con.extract_statements(f"CREATE OR REPLACE TEMP MACRO {name}{body}")


def _signature(function: str, slots: Slots, udfs: Udfs) -> str:
    # the barrier makes DuckDB evaluate the cheap predicates of a WHERE first
    body = body_of(function, slots, udfs.name_of(function), [KEY])
    return f"{parameters_of(function, slots)} AS system.main.__internal_barrier({body})"


def _question_signature(udfs: Udfs) -> str:
    named = ", ".join(f"{name} := NULL" for name in ROW_NAMES)
    options = _json_of(name for name in ROW_NAMES if name != "evidence")
    given = f"{QUESTION}, {options}, {KEY}, evidence::VARCHAR"
    call = f"{udfs.name_of(TEXT2SQL_QUERY)}({given})"
    return f"({QUESTION}, {named}) AS system.main.__internal_barrier({call})"


def parameters_of(function: str, slots: Slots) -> str:
    """The parameters of a function's macro: the template, the values, and each option as a named one.

    A function with a template of its own takes none. DuckDB takes parameters of either kind by position.
    """
    spec = FUNCTIONS[function]
    # In quotes, for some are words of SQL's own, such as precision.
    named = [f'"{name}" := NULL' for name in spec.options if name not in spec.positional]
    taken = [*([] if spec.template else ["prompt"]), *slots.taken]
    taken[1:1] = [f"{name} := NULL" for name in spec.positional]
    return f"({', '.join([*taken, *named])})"


def body_of(function: str, slots: Slots, udf_name: str, hidden: Sequence[str] = ()) -> str:
    """What a function's macro stands for: a call of its UDF, and what makes the type of the answer.

    Args:
        hidden: arguments before the values that have nothing to do with them.
    """
    spec = FUNCTIONS[function]
    options = slots.options.format(_json_of(spec.options))
    prompt = "'" + spec.template.replace("'", "''") + "'" if spec.template else "prompt"
    call = f"{udf_name}({prompt}, {options}, {', '.join([*hidden, *slots.given])})"
    return f"system.main.from_json({call}, {_schema_of(spec)})" if spec.is_json else call


def _schema_of(spec: FunctionSpec) -> str:
    """The expression that gives from_json the type of a function's answers."""
    if "schema" in spec.options:
        return _SCHEMA
    if "offsets" in spec.options:
        # DuckDB binds a macro as it makes it, all options being NULL then: that has to lead to a constant
        placed = f"WHEN offsets::VARCHAR = 'true' THEN '{PLACED}'"
        return f"CASE WHEN offsets IS NULL THEN '{spec.schema}' {placed} ELSE '{spec.schema}' END"
    return _questions_schema() if "questions" in spec.options else f"'{spec.schema}'"


def _questions_schema() -> str:
    """The type of typed questions: an expression that makes a field of each, by its name and its type.

    Where it is not what `read_questions` takes, the UDF says so.
    """
    names, types = (
        f"CASE system.main.json_type(q) WHEN 'ARRAY' THEN system.main.json_extract_string(q, '$[*].{field}') "
        f"ELSE {of_object} END"
        for field, of_object in (
            ("name", "system.main.json_keys(q)"),
            ("type", "system.main.json_extract_string(q, '$.*.type')"),
        )
    )
    listed = ", ".join(f"'{name}'" for name in KINDS)
    schema = f"system.main.to_json(system.main.map({names}, {types}))::VARCHAR"
    for name, kind in KINDS.items():  # no name can hold a quote that is not escaped
        schema = f"system.main.replace({schema}, ':\"{name}\"', ':{json.dumps(FIELD_TYPES[kind])}')"
    folded = f"system.main.list_transform({names}, lambda name: system.main.lower(name))"
    end = f"CASE WHEN {LABEL_MASS}::VARCHAR = 'true' THEN '[}}]$' ELSE '^$' END"  # in place of it, one more
    masses = json.dumps({LABEL_MASS: MASSES}).removeprefix("{")
    is_new = f"NOT system.main.list_contains({folded}, '{LABEL_MASS}')"
    return f"""CASE WHEN questions IS NULL THEN '"VARCHAR"'
        ELSE system.main.regexp_replace(
            system.main.list_extract(system.main.list_transform(system.main.list_value(
            CASE WHEN system.main.typeof(questions) <> 'VARCHAR' THEN system.main.to_json(questions)::VARCHAR
            WHEN system.main.json_valid(questions::VARCHAR) THEN questions::VARCHAR END
        ), lambda q: CASE WHEN system.main.len({names}) = system.main.len({types})
            AND system.main.len(system.main.list_distinct({folded})) = system.main.len({types})
            AND system.main.len({types}) > 0
            AND ({LABEL_MASS}::VARCHAR IS DISTINCT FROM 'true' OR {is_new})
            AND system.main.list_has_all(system.main.list_value({listed}), {types}) THEN {schema}
            ELSE '"VARCHAR"' END), 1), {end}, ', {masses}') END"""


def _json_of(parameters: Iterable[str]) -> str:
    """Parameters of a macro as a JSON object."""
    fields = ", ".join(f'"{name}" := "{name}"' for name in parameters)
    return f"system.main.to_json(system.main.struct_pack({fields}))::VARCHAR"
