"""PostgreSQL's types for DuckDB's, and the way back for parameters.

Every DuckDB value arrives in the nearest PostgreSQL type that holds all of it: unsigned integers in the next
larger type, HUGEINT and BIGNUM as numeric, lists of scalars as arrays. Structures, maps, unions, variants and
lists of lists are json; enums and types that PostgreSQL has not are text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, REGPROC, TEXT, OID = 16, 17, 18, 19, 20, 21, 23, 24, 25, 26
JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR, DATE, TIME = 114, 700, 701, 705, 1042, 1043, 1082, 1083
TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, BIT, VARBIT, NUMERIC = 1114, 1184, 1186, 1266, 1560, 1562, 1700
REGCLASS, REGTYPE, UUID, JSONB = 2205, 2206, 2950, 3802
INT2VECTOR, OIDVECTOR = 22, 30
NUMERICS = (NUMERIC, 1231)  # and its array


class Known(NamedTuple):
    """A type of PostgreSQL's: its name, its size in bytes (-1: it varies) and its array's OID."""

    name: str
    size: int
    array: int


KNOWN = {
    BOOL: Known("bool", 1, 1000), BYTEA: Known("bytea", -1, 1001), CHAR: Known("char", 1, 1002),
    NAME: Known("name", 64, 1003), INT8: Known("int8", 8, 1016), INT2: Known("int2", 2, 1005),
    INT4: Known("int4", 4, 1007), REGPROC: Known("regproc", 4, 1008), TEXT: Known("text", -1, 1009),
    OID: Known("oid", 4, 1028), JSON: Known("json", -1, 199), FLOAT4: Known("float4", 4, 1021),
    FLOAT8: Known("float8", 8, 1022), UNKNOWN: Known("unknown", -2, 0), BPCHAR: Known("bpchar", -1, 1014),
    VARCHAR: Known("varchar", -1, 1015), DATE: Known("date", 4, 1182), TIME: Known("time", 8, 1183),
    TIMESTAMP: Known("timestamp", 8, 1115), TIMESTAMPTZ: Known("timestamptz", 8, 1185),
    INTERVAL: Known("interval", 16, 1187), TIMETZ: Known("timetz", 12, 1270), BIT: Known("bit", -1, 1561),
    VARBIT: Known("varbit", -1, 1563), NUMERIC: Known("numeric", -1, 1231),
    REGCLASS: Known("regclass", 4, 2210), REGTYPE: Known("regtype", 4, 2211),
    UUID: Known("uuid", 16, 2951), JSONB: Known("jsonb", -1, 3807),
    INT2VECTOR: Known("int2vector", -1, 1006), OIDVECTOR: Known("oidvector", -1, 1013),
}  # fmt: skip
ELEMENT_OF = {known.array: oid for oid, known in KNOWN.items() if known.array}


RANGES = {  # and multiranges: known by name only, for DuckDB has none
    3904: "int4range", 3906: "numrange", 3908: "tsrange", 3910: "tstzrange", 3912: "daterange",
    3926: "int8range", 4451: "int4multirange", 4532: "nummultirange", 4533: "tsmultirange",
    4534: "tstzmultirange", 4535: "datemultirange", 4536: "int8multirange",
}  # fmt: skip


class PgType(NamedTuple):
    """One of PostgreSQL's types: `typmod` is -1 without a modifier, `element` 0 but for arrays."""

    oid: int
    typmod: int = -1
    element: int = 0

    @property
    def size(self) -> int:
        """Bytes of a value; -1 where that varies."""
        return -1 if self.element else KNOWN[self.oid].size

    @property
    def name(self) -> str:
        """The name in pg_type."""
        return f"_{KNOWN[self.element].name}" if self.element else KNOWN[self.oid].name


class ResultColumn(NamedTuple):
    """A column of a result; `table_oid` and `number` are 0 unless it is a table's column as it is."""

    name: str
    type: PgType
    table_oid: int = 0
    number: int = 0


def numeric(precision: int, scale: int) -> PgType:
    """numeric(precision, scale)."""
    return PgType(NUMERIC, (precision << 16 | scale) + 4)


UHUGEINT = numeric(39, 0)  # wider than any DECIMAL of DuckDB: so it tells that numbers are unsigned
_SCALARS = {
    "BOOLEAN": PgType(BOOL), "BLOB": PgType(BYTEA), "VARCHAR": PgType(TEXT), "UUID": PgType(UUID),
    "TINYINT": PgType(INT2), "UTINYINT": PgType(INT2), "SMALLINT": PgType(INT2), "USMALLINT": PgType(INT4),
    "INTEGER": PgType(INT4), "UINTEGER": PgType(INT8), "BIGINT": PgType(INT8), "UBIGINT": numeric(20, 0),
    "HUGEINT": PgType(NUMERIC), "UHUGEINT": UHUGEINT, "BIGNUM": PgType(NUMERIC), "FLOAT": PgType(FLOAT4),
    "DOUBLE": PgType(FLOAT8), "DATE": PgType(DATE), "TIME": PgType(TIME), "TIME_NS": PgType(TIME),
    "TIME WITH TIME ZONE": PgType(TIMETZ), "TIMESTAMP": PgType(TIMESTAMP), "TIMESTAMP_S": PgType(TIMESTAMP),
    "TIMESTAMP_MS": PgType(TIMESTAMP), "TIMESTAMP_NS": PgType(TIMESTAMP),
    "TIMESTAMP WITH TIME ZONE": PgType(TIMESTAMPTZ), "TIMESTAMPTZ_NS": PgType(TIMESTAMPTZ),
    "INTERVAL": PgType(INTERVAL), "BIT": PgType(VARBIT), "JSON": PgType(JSON), "VARIANT": PgType(JSON),
}  # fmt: skip
_LIST = re.compile(r"\[\d*\]$")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_NESTED = ("STRUCT(", "MAP(", "UNION(", "TUPLE(")


@lru_cache(maxsize=1024)  # a text of 30,000 parameters asks for the type of each
def pg_type(duckdb_type: str) -> PgType:
    """The type of a column whose DuckDB type has this name, as `str(description[i][1])` gives it."""
    if found := _LIST.search(duckdb_type):
        return _array_of(duckdb_type[: found.start()])
    if found := _DECIMAL.fullmatch(duckdb_type):
        return numeric(int(found[1]), int(found[2]))
    if duckdb_type.startswith(_NESTED):
        return PgType(JSON)
    return _SCALARS.get(duckdb_type, PgType(TEXT))


def _array_of(duckdb_type: str) -> PgType:
    """An array; json for a list of lists or structures, which PostgreSQL's arrays cannot hold."""
    if _LIST.search(duckdb_type) or duckdb_type.startswith(_NESTED) or duckdb_type == "VARIANT":
        return PgType(JSON)
    element = pg_type(duckdb_type)
    return PgType(KNOWN[element.oid].array, element.typmod, element.oid)


_BACK = {
    BOOL: "BOOLEAN", BYTEA: "BLOB", CHAR: "VARCHAR", NAME: "VARCHAR", INT8: "BIGINT", INT2: "SMALLINT",
    INT4: "INTEGER", TEXT: "VARCHAR", OID: "UINTEGER", JSON: "JSON", FLOAT4: "FLOAT", FLOAT8: "DOUBLE",
    BPCHAR: "VARCHAR", VARCHAR: "VARCHAR", DATE: "DATE", TIME: "TIME", TIMESTAMP: "TIMESTAMP",
    TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE", INTERVAL: "INTERVAL", TIMETZ: "TIME WITH TIME ZONE", BIT: "BIT",
    VARBIT: "BIT", UUID: "UUID", JSONB: "JSON",
}  # fmt: skip


def duckdb_type(oid: int) -> str | None:
    """DuckDB's type for a parameter of this OID; None leaves it open.

    That is so for 0 and unknown, for numeric, whose value decides its width, and for types not known here.
    """
    if oid in ELEMENT_OF:
        element = duckdb_type(ELEMENT_OF[oid])
        return None if element is None else f"{element}[]"
    return _BACK.get(oid)
