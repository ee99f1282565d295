"""Numerics in PostgreSQL's binary form: a sign, a scale, and digits in base 10,000 around the point."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa

from relserve.errors import ProtocolError
from relserve.server.wire.arrays import of_bytes
from relserve.server.wire.body import MessageBody
from relserve.server.wire.numerals import big_integers

BASE, DIGITS = 10_000, 4
NEGATIVE, NAN, INFINITY, MINUS_INFINITY = 0x4000, 0xC000, 0xD000, 0xF000
_NO_NUMBERS = {NAN: float("nan"), INFINITY: float("inf"), MINUS_INFINITY: float("-inf")}


def numeric_binary(array: pa.Array, *, is_unsigned: bool) -> pa.Array:
    """The values as bytes; null stays null."""
    if pa.types.is_integer(array.type):
        integers, scale = array.to_pylist(), 0
    else:
        scale = array.type.scale if pa.types.is_decimal(array.type) else 0
        integers = big_integers(array, is_unsigned=is_unsigned)
    return of_bytes(None if each is None else numeric(each, scale) for each in integers)


def numeric(unscaled: int, scale: int) -> bytes:
    """The number unscaled / 10**scale."""
    groups: list[int] = []
    rest = abs(unscaled) * 10 ** (-scale % DIGITS)
    weight = -1 - (scale + DIGITS - 1) // DIGITS
    while rest:
        rest, group = divmod(rest, BASE)
        weight += 1
        if group or groups:
            groups.append(group)
    sign = NEGATIVE if unscaled < 0 else 0
    groups.reverse()
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight if groups else 0, sign, scale, *groups)


def read_numeric(body: MessageBody) -> Decimal | float:
    """A numeric from its binary form; NaN and infinities are floats, for DuckDB's DECIMAL has none.

    Raises:
        ProtocolError: it is not whole, or a sign or digit is none (22P03).
    """
    count, weight, sign, scale = body.uint16(), body.int16(), body.uint16(), body.uint16()
    groups = [body.uint16() for _ in range(count)]
    if sign in _NO_NUMBERS:
        return _NO_NUMBERS[sign]
    if sign not in (0, NEGATIVE) or any(group >= BASE for group in groups):
        raise ProtocolError("invalid sign or digit in external numeric value", "22P03")
    unscaled = 0
    for group in groups:
        unscaled = unscaled * BASE + group
    exponent = DIGITS * (weight + 1 - count)
    number = Decimal((int(sign == NEGATIVE), tuple(map(int, str(unscaled))), exponent))
    return _with_scale(number, scale)


def _with_scale(number: Decimal, scale: int) -> Decimal:
    """The same number with so many digits after the point; none that counts is cut."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    text = "".join(map(str, digits))
    text = text + "0" * shift if shift >= 0 else text[:shift] or "0"
    return Decimal((sign, tuple(map(int, text)), -scale))
