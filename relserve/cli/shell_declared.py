"""What DuckDB's extension has to know of relserve, written for its C compiler and for DuckDB's shell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.types as kinds
from relserve_duckdb.text.call_limits import AGGREGATE, LISTS
from relserve_duckdb.udf.macros import GROUP, LIST, ROW, Slots, body_of, parameters_of
from relserve_duckdb.udf.site import sql_type_of

from relserve.call.options import FUNCTIONS
from relserve.linking.schema import literal
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA
from relserve.version import VERSION

PRIVATE = "__relserve_"  # begins the names of the functions that the macros call
_DUCKDB_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE"}
# Makes DuckDB 1 leave a call without columns to the execution, so that planning and EXPLAIN ask nothing: an
# expression that cannot be folded, because of what is in its lambda, and is not volatile.
_AT_RUN_TIME = (
    "system.main.list_transform(system.main.list_value(true), "
    "lambda x: x AND system.main.current_query_id() >= 0)[1]"
)


def header(python: str) -> str:
    """declared.h: the functions, the tables' columns, and the command that starts the engine.

    Args:
        python: the interpreter that has relserve.
    """
    return "\n".join(
        [
            "/* Written by `relserve shell --install`. */",
            f"#define RELSERVE_VERSION {json.dumps(VERSION)}",
            f"#define RELSERVE_PYTHON {json.dumps(python)}",
            f"#define RELSERVE_PRIVATE {json.dumps(PRIVATE)}",
            _list("RELSERVE_FUNCTIONS", ((name, _answered(name)) for name in FUNCTIONS)),
            _list("RELSERVE_LLM_QUERIES", _columns(QUERY_SCHEMA)),
            _list("RELSERVE_LLM_ERRORS", _columns(ERROR_SCHEMA)),
            "",
        ]
    )


def start_up(extension: Path, duckdb_major: int) -> str:
    """The SQL that a connection runs first: LOAD, and a TEMP macro a function, which stays in no file.

    Args:
        duckdb_major: 1 or 2; DuckDB 2 has llm_agg as an aggregate, and a barrier that has cheap predicates
            evaluated first.
    """
    lines = [f"LOAD {literal(str(extension))};"]
    for function, spec in FUNCTIONS.items():
        if not spec.aggregate:
            lines.append(_macro(function, function, ROW, duckdb_major))
    for function, listed in LISTS.items():
        if function != AGGREGATE or duckdb_major < 2:
            lines.append(_macro(function, function, GROUP, duckdb_major))
        lines.append(_macro(listed, function, LIST, duckdb_major))
    return "\n".join(lines) + "\n"


def _macro(name: str, function: str, slots: Slots, duckdb_major: int) -> str:
    hidden = "NULL" if duckdb_major >= 2 else _AT_RUN_TIME
    body = body_of(function, slots, f"system.main.{PRIVATE}{function}", [hidden])
    if _answered(function) != (kind := sql_type_of(function)):
        body = f"CAST({body} AS {kind})"
    body = f"system.main.__internal_barrier({body})" if duckdb_major >= 2 else body
    return f"CREATE OR REPLACE TEMP MACRO {name}{parameters_of(function, slots)} AS {body};"


def _answered(function: str) -> str:
    """The type in which the extension gets answers; lists come as texts."""
    kind = sql_type_of(function)
    return "VARCHAR" if kind.endswith("[]") else kind


def _list(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    return f"#define {name}(DO) " + " ".join(f"DO({each}, {kind})" for each, kind in pairs)


def _columns(schema: pa.Schema) -> Iterable[tuple[str, str]]:
    for field in schema:
        yield field.name, "TIMESTAMP" if kinds.is_timestamp(field.type) else _DUCKDB_TYPES[str(field.type)]
