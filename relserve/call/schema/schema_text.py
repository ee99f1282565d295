"""From the text of a schema to its shape.

A schema is what DuckDB's from_json takes: JSON text whose objects are STRUCTs, whose lists of one item are
LISTs and whose texts are types of DuckDB; or one of DuckDB's types alone, such as 'STRUCT(brand VARCHAR)'.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from relserve.call.checks import is_field_name
from relserve.call.schema.leaves import BoolShape, ClockShape, EnumShape, TextShape
from relserve.call.schema.nested import ListShape, NullableShape, StructShape
from relserve.call.schema.numbers import DecimalShape, FloatShape, WholeShape
from relserve.call.schema.shape import SchemaShape
from relserve.errors import OptionError

if TYPE_CHECKING:
    import duckdb

SCHEMA_EXAMPLE = """'{"brand": "VARCHAR", "price": "DECIMAL(10,2)"}'"""
TYPES = (
    "VARCHAR, BOOLEAN, whole numbers (INTEGER, BIGINT, ..), DECIMAL(..), DOUBLE, FLOAT, DATE, TIME, "
    "TIMESTAMP, ENUM(..), STRUCT, LIST, ARRAY"
)
MAX_DEPTH = 16

_LEAVES: dict[str, SchemaShape] = {
    "varchar": TextShape(),
    "boolean": BoolShape(),
    "float": FloatShape("FLOAT", -3.4028234663852886e38, 3.4028234663852886e38),
    "double": FloatShape("DOUBLE", -1.7976931348623157e308, 1.7976931348623157e308),
    "date": ClockShape("DATE"),
    "time": ClockShape("TIME"),
    "timestamp": ClockShape("TIMESTAMP"),
    **{
        name: WholeShape(name.upper(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for name, bits in dict(tinyint=8, smallint=16, integer=32, bigint=64, hugeint=128).items()
    },
    **{
        name: WholeShape(name.upper(), 0, 2**bits - 1)
        for name, bits in dict(utinyint=8, usmallint=16, uinteger=32, ubigint=64, uhugeint=128).items()
    },
}


def schema_text_of(schema: Any) -> str:
    """A schema as JSON text, the form that from_json takes.

    Args:
        schema: JSON text, a type of DuckDB, or the objects that JSON text would give.
    """
    if not isinstance(schema, str):
        return json.dumps(schema, ensure_ascii=False)
    try:
        json.loads(schema)
    except (ValueError, RecursionError):
        return json.dumps(schema.strip(), ensure_ascii=False)
    return schema


@lru_cache(maxsize=1024)
def shape_of(schema: str) -> SchemaShape:
    """The shape of a schema given as JSON text.

    Raises:
        OptionError: it is no schema; the message says where.
    """
    try:
        shape = _of_json(json.loads(schema, object_pairs_hook=_Pairs), "", 0)
    except RecursionError as error:
        raise _refused("", "is nested too deeply") from error
    return shape if isinstance(shape, (ListShape, StructShape)) else NullableShape(shape)


def number_of(kind: str, lo: float | None, hi: float | None) -> SchemaShape:
    """A number from `lo` to `hi`, or null; None leaves the bound of the type.

    Args:
        kind: "bigint" or "double".
    """
    shape = _LEAVES[kind]
    assert isinstance(shape, (WholeShape, FloatShape))
    return NullableShape(shape.within(lo, hi))


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, also those that come twice."""


def _of_json(node: Any, where: str, depth: int) -> SchemaShape:
    _refuse_deep(where, depth)
    if isinstance(node, _Pairs):
        if not node:
            raise _refused(where, "has no fields")
        inner = f"{where}." if where else ""
        _refuse_twice([name for name, _ in node], where)
        return StructShape(tuple((name, _of_json(kind, f"{inner}{name}", depth + 1)) for name, kind in node))
    if isinstance(node, list):
        if len(node) != 1:
            raise _refused(where, 'is a list, which takes one type, e.g. ["VARCHAR"]')
        return ListShape(_of_json(node[0], f"{where}[]", depth + 1))
    if not isinstance(node, str) or not node.strip():
        raise _refused(where, f"is {json.dumps(node)}, which is no type")
    return _of_type(_type_of(node, where), where, depth)


def _refuse_deep(where: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _refused(where, f"is nested more than {MAX_DEPTH} deep")


def _refuse_twice(names: list[str], where: str) -> None:
    folded = Counter(name.lower() for name in names)  # DuckDB tells fields apart by more than case
    for name in names:
        if not name.strip():
            raise _refused(where, "has a field without a name")
        if not is_field_name(name):
            raise _refused(where, f"has the field {name!r}, which is no name in SQL")
        if folded[name.lower()] > 1:
            raise _refused(where, f"has the field {name!r} more than once")


def _type_of(text: str, where: str) -> Any:
    """DuckDB's type of this name."""
    import duckdb  # here: `import relserve` must not load it

    with _lock:
        try:
            return _duckdb().type(text)
        except (duckdb.Error, RuntimeError) as error:
            message = str(error).splitlines()[0]
            raise _refused(where, f"is {text!r}, which is no type of DuckDB ({message})") from error


def _of_type(kind: Any, where: str, depth: int) -> SchemaShape:
    _refuse_deep(where, depth)
    if kind.id in _LEAVES and str(kind) != "JSON":  # whose id is that of VARCHAR
        return _LEAVES[kind.id]
    inner = f"{where}." if where else ""
    if kind.id == "struct":
        _refuse_twice([name for name, _ in kind.children], where)
        return StructShape(
            tuple((name, _of_type(child, f"{inner}{name}", depth + 1)) for name, child in kind.children)
        )
    parts = dict(kind.children) if kind.id in ("decimal", "enum", "list", "array") else {}
    match kind.id:
        case "decimal":
            return DecimalShape(parts["precision"], parts["scale"])
        case "enum":
            return EnumShape(tuple(parts["values"]))
        case "list":
            return ListShape(_of_type(parts["child"], f"{where}[]", depth + 1))
        case "array":
            return ListShape(_of_type(parts["child"], f"{where}[]", depth + 1), parts["size"])
    raise _refused(where, f"is of type {kind}, which llm_extract() cannot check. It takes: {TYPES}")


def _refused(where: str, problem: str) -> OptionError:
    return OptionError(f"schema: {where or 'it'} {problem}\nWrite it like {SCHEMA_EXAMPLE}")


_lock = threading.Lock()


@lru_cache(maxsize=1)
def _duckdb() -> duckdb.DuckDBPyConnection:
    """A connection of our own that knows DuckDB's types; used under `_lock`."""
    import duckdb

    return duckdb.connect(config={"threads": 1})
