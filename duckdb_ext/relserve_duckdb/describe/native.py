"""DuckDB's own connection inside a Python one, for its C interface, which the wheel exports.

Python's interface binds a statement only by running it, or, where it only reads, as a relation. The C
interface prepares any statement on the same connection, with its TEMP tables, macros and open transaction.
Where a Python object keeps its connection is documented nowhere. So a release is trusted only after a try of
all that is needed of it, in a child process, which may crash. Run as a program, this file is that try.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
from ctypes import c_char_p, c_int, c_uint64, c_void_p
from functools import lru_cache

import duckdb

TRY_S = 30  # longest that the child process may take
# nanobind's instance: Python's head, then offset and flags of the C++ object
_AFTER_HEAD = object.__basicsize__
_IS_INSIDE = 1 << 2  # the flag: the C++ object lies at the offset; else its address does
_CONNECTION_AT = 32  # in a DuckDBPyConnection, behind a virtual table and a shared pointer


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The C interface of the loaded DuckDB."""
    import _duckdb  # here, so that a wheel without it is only one that is not trusted

    found = ctypes.CDLL(_duckdb.__file__)
    found.duckdb_prepare.argtypes = [c_void_p, c_char_p, c_void_p]
    for name in ("duckdb_destroy_prepare", "duckdb_destroy_logical_type", "duckdb_free"):
        getattr(found, name).argtypes = [c_void_p]
        getattr(found, name).restype = None
    for name, numbers, result in _FUNCTIONS:
        function = getattr(found, f"duckdb_{name}")
        function.argtypes, function.restype = [c_void_p, *[c_uint64] * numbers], result
    return found


# name, how many indexes follow its first argument, result
_FUNCTIONS = (
    ("nparams", 0, c_uint64), ("parameter_name", 1, c_void_p), ("param_logical_type", 1, c_void_p),
    ("prepare_error", 0, c_char_p),
    ("prepared_statement_column_count", 0, c_uint64), ("prepared_statement_column_name", 1, c_void_p),
    ("prepared_statement_column_logical_type", 1, c_void_p),
    ("get_type_id", 0, c_int), ("logical_type_get_alias", 0, c_void_p),
    ("decimal_width", 0, ctypes.c_uint8), ("decimal_scale", 0, ctypes.c_uint8),
    ("enum_dictionary_size", 0, ctypes.c_uint32), ("enum_dictionary_value", 1, c_void_p),
    ("list_type_child_type", 0, c_void_p),
    ("array_type_child_type", 0, c_void_p), ("array_type_array_size", 0, c_uint64),
    ("map_type_key_type", 0, c_void_p), ("map_type_value_type", 0, c_void_p),
    ("struct_type_child_count", 0, c_uint64), ("struct_type_child_name", 1, c_void_p),
    ("struct_type_child_type", 1, c_void_p),
    ("union_type_member_count", 0, c_uint64), ("union_type_member_name", 1, c_void_p),
    ("union_type_member_type", 1, c_void_p),
)  # fmt: skip


def is_reachable(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether `connection_of` may be called: for a connection of DuckDB's own class, where that was tried."""
    return type(con) is duckdb.DuckDBPyConnection and is_trusted()


@lru_cache(maxsize=1)
def is_trusted() -> bool:
    """Whether the place is known in this process; the first time this starts the child process."""
    if sys.implementation.name != "cpython" or not sys.executable:
        return False
    try:
        tried = subprocess.run([sys.executable, __file__], capture_output=True, timeout=TRY_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0


def connection_of(con: duckdb.DuckDBPyConnection) -> int:
    """The address of the `duckdb_connection` inside a Python connection.

    Raises:
        duckdb.ConnectionException: it is closed.
    """
    head = id(con) + _AFTER_HEAD
    offset, flags = struct.unpack("iI", ctypes.string_at(head, struct.calcsize("iI")))
    place = id(con) + offset
    found = _pointer_at((place if flags & _IS_INSIDE else _pointer_at(place)) + _CONNECTION_AT)
    if not found:
        raise duckdb.ConnectionException("Connection Error: Connection already closed!")
    return found


def _pointer_at(address: int) -> int:
    (found,) = struct.unpack("P", ctypes.string_at(address, struct.calcsize("P")))
    return int(found)


def _try() -> int:
    """Prepare a statement that only this very connection understands; status 0 if all is as it has to be."""
    c, con, statement = library(), duckdb.connect(), c_void_p()
    other = con.cursor()
    con.execute("CREATE TEMP TABLE tried (a INTEGER)")
    text = b"SELECT a, a::DATE[] AS d FROM tried WHERE a = $1"
    if c.duckdb_prepare(connection_of(other), text, ctypes.byref(statement)) == 0:
        return 1  # TEMP tables belong to one connection
    c.duckdb_destroy_prepare(ctypes.byref(statement))
    if c.duckdb_prepare(connection_of(con), text, ctypes.byref(statement)):
        return 1
    kinds = [c.duckdb_prepared_statement_column_logical_type(statement, i) for i in range(2)]
    kinds += [c.duckdb_param_logical_type(statement, 1), c.duckdb_list_type_child_type(kinds[1])]
    name = ctypes.string_at(c.duckdb_prepared_statement_column_name(statement, 1))
    con.close()
    try:
        connection_of(con)
    except duckdb.ConnectionException:
        return int([c.duckdb_get_type_id(kind) for kind in kinds] != [4, 24, 4, 13] or name != b"d")
    return 1


if __name__ == "__main__":
    sys.exit(_try())
