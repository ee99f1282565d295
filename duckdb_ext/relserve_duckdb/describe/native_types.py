"""DuckDB's logical types, as its C interface gives them, in DuckDB's own words."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import lru_cache

import duckdb

from relserve.linking.schema import literal
from relserve_duckdb.describe.native import library

_NAMES = {
    1: "BOOLEAN", 2: "TINYINT", 3: "SMALLINT", 4: "INTEGER", 5: "BIGINT", 6: "UTINYINT", 7: "USMALLINT",
    8: "UINTEGER", 9: "UBIGINT", 10: "FLOAT", 11: "DOUBLE", 12: "TIMESTAMP", 13: "DATE", 14: "TIME",
    15: "INTERVAL", 16: "HUGEINT", 17: "VARCHAR", 18: "BLOB", 20: "TIMESTAMP_S", 21: "TIMESTAMP_MS",
    22: "TIMESTAMP_NS", 27: "UUID", 29: "BIT", 30: "TIME WITH TIME ZONE", 31: "TIMESTAMP WITH TIME ZONE",
    32: "UHUGEINT", 35: "BIGNUM", 36: '"NULL"', 39: "TIME_NS", 40: "GEOMETRY", 41: "VARIANT",
    42: "TIMESTAMP_NS WITH TIME ZONE",
}  # fmt: skip


class Nested(IntEnum):
    """Numbers of the types that are made of others, or of numbers or texts."""

    DECIMAL, ENUM, LIST, STRUCT, MAP, UNION, ARRAY = 19, 23, 24, 25, 26, 28, 33


def taken_type(handle: int) -> str | None:
    """The text of a logical type, which is freed; None for a type that DuckDB does not know yet."""
    try:
        return _text(handle)
    finally:
        library().duckdb_destroy_logical_type(ctypes.byref(ctypes.c_void_p(handle)))


def taken_text(address: int | None) -> str:
    """A text of DuckDB's, which is freed; "" for none."""
    if not address:
        return ""
    text = ctypes.string_at(address).decode()
    library().duckdb_free(address)
    return text


def _text(handle: int) -> str | None:
    c = library()
    kind = c.duckdb_get_type_id(handle)
    if alias := taken_text(c.duckdb_logical_type_get_alias(handle)):
        return alias
    match kind:
        case Nested.DECIMAL:
            return f"DECIMAL({c.duckdb_decimal_width(handle)},{c.duckdb_decimal_scale(handle)})"
        case Nested.ENUM:
            return f"ENUM({', '.join(_enum_values(handle))})"
        case Nested.LIST:
            return f"{taken_type(c.duckdb_list_type_child_type(handle))}[]"
        case Nested.STRUCT:
            return _struct(handle)
        case Nested.MAP:
            key, value = c.duckdb_map_type_key_type(handle), c.duckdb_map_type_value_type(handle)
            return f"MAP({taken_type(key)}, {taken_type(value)})"
        case Nested.UNION:
            return f"UNION({', '.join(_members(handle, 'union_type_member'))})"
        case Nested.ARRAY:
            child = taken_type(c.duckdb_array_type_child_type(handle))
            return f"{child}[{c.duckdb_array_type_array_size(handle)}]"
    return _NAMES.get(kind)


def _struct(handle: int) -> str:
    members = _members(handle, "struct_type_child")
    is_tuple = all(member.startswith(" ") for member in members)
    return f"{'TUPLE' if is_tuple else 'STRUCT'}({', '.join(member.lstrip() for member in members)})"


def _enum_values(handle: int) -> list[str]:
    c = library()
    numbers = range(c.duckdb_enum_dictionary_size(handle))
    values = [taken_text(c.duckdb_enum_dictionary_value(handle, i)) for i in numbers]
    return list(map(literal, values))


def _members(handle: int, family: str) -> list[str]:
    """The members of a STRUCT or UNION, each `name type`."""
    c = library()
    name_of, type_of = getattr(c, f"duckdb_{family}_name"), getattr(c, f"duckdb_{family}_type")
    numbers = range(getattr(c, f"duckdb_{family}_count")(handle))
    return [f"{_quoted(taken_text(name_of(handle, i)))} {taken_type(type_of(handle, i))}" for i in numbers]


@lru_cache(maxsize=4096)
def _quoted(name: str) -> str:
    """A name as DuckDB writes it, in quotes where it needs them."""
    return (
        str(duckdb.struct_type({name: "DATE"})).removeprefix("STRUCT(").removesuffix(" DATE)") if name else ""
    )
