"""A statement as DuckDB prepares it: its columns and parameters; it does not run."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import duckdb

from relserve.linking.schema import literal
from relserve_duckdb.describe.native import connection_of, library
from relserve_duckdb.text.duckdb_errors import error_of
from relserve_duckdb.udf.client import Variables

_NAMES = {
    1: "BOOLEAN", 2: "TINYINT", 3: "SMALLINT", 4: "INTEGER", 5: "BIGINT", 6: "UTINYINT", 7: "USMALLINT",
    8: "UINTEGER", 9: "UBIGINT", 10: "FLOAT", 11: "DOUBLE", 12: "TIMESTAMP", 13: "DATE", 14: "TIME",
    15: "INTERVAL", 16: "HUGEINT", 17: "VARCHAR", 18: "BLOB", 20: "TIMESTAMP_S", 21: "TIMESTAMP_MS",
    22: "TIMESTAMP_NS", 27: "UUID", 29: "BIT", 30: "TIME WITH TIME ZONE", 31: "TIMESTAMP WITH TIME ZONE",
    32: "UHUGEINT", 35: "BIGNUM", 36: '"NULL"', 39: "TIME_NS", 40: "GEOMETRY", 41: "VARIANT",
    42: "TIMESTAMP_NS WITH TIME ZONE",
}  # fmt: skip


class BoundStatement(NamedTuple):
    """What DuckDB's bind tells.

    Attributes:
        columns: name and type of each; None: that takes types, or values, of its parameters.
        parameters: types by the names of the parameters, `1` for $1 and the first ?; None: not told.
    """

    columns: tuple[tuple[str, str], ...] | None
    parameters: dict[str, str | None]


def prepare(con: duckdb.DuckDBPyConnection, variables: Variables, text: str) -> BoundStatement:
    """Prepare one statement on a connection.

    Raises:
        duckdb.Error: it is wrong, or several, or an unread result is open.
    """
    c, statement = library(), ctypes.c_void_p()
    try:
        # called by no frame of ours, so that DuckDB looks for DataFrames among the caller's variables
        if variables.call(c.duckdb_prepare, connection_of(con), text.encode(), ctypes.byref(statement)):
            message = (c.duckdb_prepare_error(statement) or b"").decode()
            raise error_of(message) or duckdb.Error(message)
        return BoundStatement(_columns(statement), _types(statement))
    finally:
        c.duckdb_destroy_prepare(ctypes.byref(statement))


def _columns(statement: ctypes.c_void_p) -> tuple[tuple[str, str], ...] | None:
    c, found = library(), []
    for i in range(c.duckdb_prepared_statement_column_count(statement)):
        kind = _taken_type(c.duckdb_prepared_statement_column_logical_type(statement, i))
        name = _taken_text(c.duckdb_prepared_statement_column_name(statement, i))
        if kind is None:
            return None
        found.append((name, kind))
    return tuple(found)


def _types(statement: ctypes.c_void_p) -> dict[str, str | None]:
    c = library()
    numbers = range(1, c.duckdb_nparams(statement) + 1)
    found = {_taken_text(c.duckdb_parameter_name(statement, i)): _type(statement, i) for i in numbers}
    return {name: kind for name, kind in found.items() if name}  # a number that the text leaves out has none


def _type(statement: ctypes.c_void_p, i: int) -> str | None:
    handle = library().duckdb_param_logical_type(statement, i)
    return _taken_type(handle) if handle else None


class _Nested(IntEnum):
    """Numbers of the types that are made of others, or of numbers or texts."""

    DECIMAL, ENUM, LIST, STRUCT, MAP, UNION, ARRAY = 19, 23, 24, 25, 26, 28, 33


def _taken_type(handle: int) -> str | None:
    """The text of a logical type, which is freed; None for a type that DuckDB does not know yet."""
    try:
        return _text(handle)
    finally:
        library().duckdb_destroy_logical_type(ctypes.byref(ctypes.c_void_p(handle)))


def _taken_text(address: int | None) -> str:
    """A text of DuckDB's, which is freed; "" for none."""
    if not address:
        return ""
    text = ctypes.string_at(address).decode()
    library().duckdb_free(address)
    return text


def _text(handle: int) -> str | None:
    c = library()
    kind = c.duckdb_get_type_id(handle)
    if alias := _taken_text(c.duckdb_logical_type_get_alias(handle)):
        return alias
    match kind:
        case _Nested.DECIMAL:
            return f"DECIMAL({c.duckdb_decimal_width(handle)},{c.duckdb_decimal_scale(handle)})"
        case _Nested.ENUM:
            return f"ENUM({', '.join(_enum_values(handle))})"
        case _Nested.LIST:
            return f"{_taken_type(c.duckdb_list_type_child_type(handle))}[]"
        case _Nested.STRUCT:
            return _struct(handle)
        case _Nested.MAP:
            key, value = c.duckdb_map_type_key_type(handle), c.duckdb_map_type_value_type(handle)
            return f"MAP({_taken_type(key)}, {_taken_type(value)})"
        case _Nested.UNION:
            return f"UNION({', '.join(_members(handle, 'union_type_member'))})"
        case _Nested.ARRAY:
            child = _taken_type(c.duckdb_array_type_child_type(handle))
            return f"{child}[{c.duckdb_array_type_array_size(handle)}]"
    return _NAMES.get(kind)


def _struct(handle: int) -> str:
    members = _members(handle, "struct_type_child")
    is_tuple = all(member.startswith(" ") for member in members)
    return f"{'TUPLE' if is_tuple else 'STRUCT'}({', '.join(member.lstrip() for member in members)})"


def _enum_values(handle: int) -> list[str]:
    c = library()
    numbers = range(c.duckdb_enum_dictionary_size(handle))
    values = [_taken_text(c.duckdb_enum_dictionary_value(handle, i)) for i in numbers]
    return list(map(literal, values))


def _members(handle: int, family: str) -> list[str]:
    """The members of a STRUCT or UNION, each `name type`."""
    c = library()
    name_of, type_of = getattr(c, f"duckdb_{family}_name"), getattr(c, f"duckdb_{family}_type")
    numbers = range(getattr(c, f"duckdb_{family}_count")(handle))
    return [f"{_quoted(_taken_text(name_of(handle, i)))} {_taken_type(type_of(handle, i))}" for i in numbers]


@lru_cache(maxsize=4096)
def _quoted(name: str) -> str:
    """A name as DuckDB writes it, in quotes where it needs them."""
    return (
        str(duckdb.struct_type({name: "DATE"})).removeprefix("STRUCT(").removesuffix(" DATE)") if name else ""
    )
