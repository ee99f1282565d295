"""A statement's parameters: bytes that a client bound, as values for DuckDB's `execute`."""

from __future__ import annotations

import socket
import struct
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import duckdb

from relserve.errors import ProtocolError
from relserve.server.wire import types
from relserve.server.wire.array_values import read_array_binary, read_array_text
from relserve.server.wire.body import MessageBody, utf8
from relserve.server.wire.numeric_binary import read_numeric
from relserve.server.wire.time_values import BINARY_WORDS, TEXT_WORDS
from relserve.server.wire.types import ELEMENT_OF, KNOWN, duckdb_type

_ADDRESSES = (869, 650)  # inet and cidr, which are texts here
TEXT_FORMAT, BINARY_FORMAT = 0, 1
_DECIMAL_DIGITS = 38
_MOST_BITS = 83_886_080  # of a bit string, as in PostgreSQL
_MOST_DIGITS = 4300  # of a whole number: more Python does not write, nor quickly make of 1e1000000
_TRUE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")


def read_parameter(raw: bytes | None, format_code: int, oid: int) -> Any:
    """A Python value, or a `duckdb.Value` where Python's own types do not hold the value or its type.

    A parameter of an unknown type (OID 0) stays text, whose type DuckDB finds in the statement.

    Raises:
        ProtocolError: no value of this type is written so (22P02 in text, 22P03 in binary).
    """
    if raw is None:
        return None
    if oid in ELEMENT_OF:
        return _array(raw, format_code, oid)
    return _text(utf8(raw), oid) if format_code == TEXT_FORMAT else _binary(raw, oid)


def _array(raw: bytes, format_code: int, oid: int) -> Any:
    element = ELEMENT_OF[oid]
    if format_code == TEXT_FORMAT:
        read = read_array_text(utf8(raw), lambda text: _text(text, element))
    else:
        read = read_array_binary(raw, element, lambda each: _binary(each, element))
    dimensions, values = read
    kind = _decimal_of(values) if element == types.NUMERIC else duckdb_type(element)
    if kind is None:
        return values
    return _valued(_untyped(values), kind + "[]" * max(dimensions, 1))


def _untyped(value: Any) -> Any:
    """Lists of values without types of their own, for a list that has one."""
    if isinstance(value, list):
        return [_untyped(each) for each in value]
    return value.object if isinstance(value, duckdb.Value) else value


def _text(text: str, oid: int) -> Any:
    read = TEXT_WORDS.get(oid) or _TEXTS.get(oid)
    if read is None:
        return _typed(text, oid) if oid in _TYPED else text
    try:
        return _typed(read(text), oid) if oid in TEXT_WORDS else read(text)
    except (ValueError, InvalidOperation) as error:
        name = KNOWN[oid].name
        raise ProtocolError(f'invalid input syntax for type {name}: "{text[:80]}"', "22P02") from error


def _binary(raw: bytes, oid: int) -> Any:
    if oid in types.RANGES:
        raise _unread(types.RANGES[oid])
    body = MessageBody(f"{KNOWN[oid].name if oid in KNOWN else 'unknown'} parameter", raw, "22P03")
    if oid in BINARY_WORDS:
        value: Any = _typed(BINARY_WORDS[oid](body), oid)
    elif oid in _BINARIES:
        value = _BINARIES[oid](body)
    else:
        text = utf8(body.rest())
        if "\0" in text:  # in no text of PostgreSQL's: it is the binary form of what this is not told
            if oid and oid not in KNOWN:
                raise _unread(f"the type with OID {oid}")
            raise ProtocolError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
        value = _typed(text, oid) if oid in _TYPED else text
    body.end()
    return value


def _unread(kind: str) -> ProtocolError:
    return ProtocolError(f"the binary form of {kind} is not read here", "0A000", "Send it as text.")


_TYPED = (types.JSON, types.JSONB, types.BIT, types.VARBIT)  # texts whose type DuckDB would not guess


def _typed(text: str, oid: int) -> duckdb.Value:
    kind = duckdb_type(oid)
    assert kind is not None
    return _valued(text, kind)


def _valued(value: Any, kind: str) -> duckdb.Value:
    return duckdb.Value(value, duckdb.type(kind))


def _bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(word)
    return word in _TRUE


def _integer(bits: int, *, is_signed: bool = True) -> Callable[[str], int]:
    lowest, highest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)

    def read(text: str) -> int:
        value = int(text)
        if not lowest <= value <= highest:
            raise ProtocolError(f'value "{text}" is out of range: from {lowest} to {highest}', "22003")
        return value

    return read


def _bytea(text: str) -> bytes:
    """The hex form, or the older one with octal escapes."""
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    parts = text.split("\\\\")
    return b"\\".join(map(_unescaped, parts))


def _unescaped(text: str) -> bytes:
    first, *rest = text.split("\\")
    return first.encode() + b"".join(bytes([int(each[:3], 8)]) + each[3:].encode() for each in rest)


def _numeric(text: str) -> Any:
    value = Decimal(text.strip())
    return _fitting(value) if value.is_finite() else float(value)


def _fitting(number: Decimal) -> Any:
    """In the type of DuckDB's that holds all its digits, for with too many of them it takes a DOUBLE."""
    digits, scale = _width(number)
    if digits + scale < _DECIMAL_DIGITS:
        return number
    if digits + scale == _DECIMAL_DIGITS:  # DuckDB's client counts a 0 before the point
        return _valued(f"{number:f}", f"DECIMAL({_DECIMAL_DIGITS},{scale})")
    if scale == 0 and digits <= _MOST_DIGITS:
        return _large(int(number))
    raise _too_long(str(number), _DECIMAL_DIGITS if scale else _MOST_DIGITS)


def _width(number: Decimal) -> tuple[int, int]:
    """How many digits a number has before its point, and behind it."""
    return max(number.adjusted() + 1, 0), -min(int(number.as_tuple().exponent), 0)


def _too_long(number: str, most: int = _DECIMAL_DIGITS) -> ProtocolError:
    return ProtocolError(
        f"numeric of more than {most} digits: {number[:80]}",
        "22003",
        "Send it as double precision.",
    )


def _decimal_of(values: list[Any]) -> str | None:
    """The DECIMAL that holds all digits of each of the values of an array; None: some are none."""
    flat = list(_flat(values))
    if any(map(is_beyond_decimal, flat)):
        return None
    widths = [_width(Decimal(str(each.object if isinstance(each, duckdb.Value) else each))) for each in flat]
    digits, scale = (max((width[i] for width in widths), default=0) for i in (0, 1))
    if digits + scale > _DECIMAL_DIGITS:
        raise _too_long(f"an array with {digits} digits before the point and {scale} behind it")
    return f"DECIMAL({max(digits + scale, 1)},{scale})"


def _flat(values: list[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, list):
            yield from _flat(each)
        elif each is not None:
            yield each


def is_beyond_decimal(value: Any) -> bool:
    """Whether the value of a numeric is none that DuckDB's DECIMAL has, or holds one that is."""
    if isinstance(value, list):
        return any(map(is_beyond_decimal, value))
    if isinstance(value, duckdb.Value):
        return str(value.type) in ("UHUGEINT", "BIGNUM")
    return isinstance(value, float) or (isinstance(value, int) and abs(value) >= 10**_DECIMAL_DIGITS)


def _large(number: int) -> Any:
    if -(2**127) <= number < 2**127:
        return number
    return _valued(str(number), "UHUGEINT" if 0 < number < 2**128 else "BIGNUM")


def _binary_numeric(body: MessageBody) -> Any:
    number = read_numeric(body)
    return _fitting(number) if isinstance(number, Decimal) else number


def _struct(form: str) -> Callable[[MessageBody], Any]:
    return lambda body: struct.unpack(form, body.take(struct.calcsize(form)))[0]


_TEXTS: dict[int, Callable[[str], Any]] = {
    types.BOOL: _bool,
    types.INT2: _integer(16),
    types.INT4: _integer(32),
    types.INT8: _integer(64),
    types.OID: _integer(32, is_signed=False),
    types.FLOAT4: float,
    types.FLOAT8: float,
    types.NUMERIC: _numeric,
    types.BYTEA: _bytea,
    types.UUID: uuid.UUID,
}


def _bits(body: MessageBody) -> duckdb.Value:
    count = body.int32()
    data = body.rest()
    if count > _MOST_BITS:
        raise ProtocolError(f"bit string length exceeds the maximum allowed ({_MOST_BITS})", "54000")
    if count < 0 or -(-count // 8) != len(data):
        raise ProtocolError(f"invalid bit string: {count} bits in {len(data)} bytes", "22P03")
    return _valued(f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"[:count], "BIT")


def _jsonb(body: MessageBody) -> duckdb.Value:
    version = body.take(1)
    if version != b"\1":
        raise ProtocolError(f"unsupported jsonb version number {version[0]}", "22P03")
    return _valued(utf8(body.rest()), "JSON")


def _address(body: MessageBody) -> str:
    """An inet or cidr as PostgreSQL writes it: the bits of a whole inet are left out."""
    family, bits, is_network, length = body.take(4)
    packed = body.take(length)
    if (family, length) not in ((2, 4), (3, 16)) or bits > 8 * length:
        raise ProtocolError("invalid network address: its family, length or number of bits", "22P03")
    address = socket.inet_ntop(socket.AF_INET if length == 4 else socket.AF_INET6, packed)
    return address if bits == 8 * length and not is_network else f"{address}/{bits}"


_BINARIES: dict[int, Callable[[MessageBody], Any]] = {
    **dict.fromkeys(_ADDRESSES, _address),
    types.BOOL: lambda body: body.take(1) != b"\0",
    types.INT2: _struct("!h"),
    types.INT4: _struct("!i"),
    types.INT8: _struct("!q"),
    types.OID: _struct("!I"),
    types.FLOAT4: _struct("!f"),
    types.FLOAT8: _struct("!d"),
    types.NUMERIC: _binary_numeric,
    types.BYTEA: MessageBody.rest,
    types.UUID: lambda body: uuid.UUID(bytes=body.take(16)),
    types.BIT: _bits,
    types.VARBIT: _bits,
    types.JSONB: _jsonb,
}
