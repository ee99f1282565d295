"""Floating-point numbers and numerics as PostgreSQL writes them, and the integers behind numerics."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.server.wire.arrays import numbers, of_bytes, patched

_EXPONENT_FROM = {
    "float": 6,
    "double": 15,
}  # digits before the point from which PostgreSQL writes an exponent
_BIGNUM_HEADER_BYTES = 3


def float_text(array: pa.Array) -> pa.Array:
    """Shortest digits that read back as the same number; Arrow knows them, but writes other exponents."""
    texts = array.cast(pa.string())
    values = np.abs(numbers(array, np.float64))
    is_as_arrows = ((values >= 1e-4) & (values < 1e6)) | (values == 0)
    rare = texts.filter(pa.array(~is_as_arrows)).to_pylist()
    limit = _EXPONENT_FROM[str(array.type)]
    return patched(texts.cast(pa.binary()), ~is_as_arrows, (_float(text, limit) for text in rare))


def _float(text: str, limit: int) -> str:
    """A number in PostgreSQL's form, of any text with its shortest digits."""
    number = Decimal(text)
    sign = "-" if number.is_signed() else ""
    if not number.is_finite():
        return "NaN" if number.is_nan() else f"{sign}Infinity"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    exponent = number.adjusted()
    if -5 < exponent < limit:
        return f"{number.normalize():f}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{exponent:+03d}"


def numeric_text(array: pa.Array, *, is_unsigned: bool) -> pa.Array:
    """Decimals with all digits of their scale; integers of any width as they are."""
    if pa.types.is_decimal(array.type) and not is_unsigned:
        return _decimal_text(array)
    if pa.types.is_decimal(array.type) or not pa.types.is_primitive(array.type):
        return of_bytes(
            None if each is None else b"%d" % each for each in big_integers(array, is_unsigned=is_unsigned)
        )
    return array.cast(pa.string()).cast(pa.binary())


def _decimal_text(array: pa.Array) -> pa.Array:
    """As Arrow writes decimals, but for the smallest, to which it gives an exponent."""
    texts = array.cast(pa.string())
    has_exponent = pc.fill_null(pc.match_substring(texts, "E"), False).to_numpy(zero_copy_only=False)
    rare = texts.filter(pa.array(has_exponent)).to_pylist()
    return patched(texts.cast(pa.binary()), has_exponent, (f"{Decimal(text):f}" for text in rare))


def big_integers(array: pa.Array, *, is_unsigned: bool) -> list[int | None]:
    """Python's integers of decimals, without their point, of 16 bytes, or of DuckDB's BIGNUM."""
    if pa.types.is_decimal(array.type) or pa.types.is_fixed_size_binary(array.type):
        values = _of_sixteen_bytes(array, is_signed=not is_unsigned)
        valid = array.is_valid().to_pylist()
        return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]
    return [None if value is None else _bignum(value) for value in array.to_pylist()]


def _of_sixteen_bytes(array: pa.Array, *, is_signed: bool) -> list[int]:
    halves = np.frombuffer(array.buffers()[1], "<u8").reshape(-1, 2)[array.offset : array.offset + len(array)]
    high = halves[:, 1].astype(np.int64) if is_signed else halves[:, 1]
    return [low | top << 64 for low, top in zip(halves[:, 0].tolist(), high.tolist(), strict=True)]


def _bignum(value: bytes) -> int:
    """DuckDB's BIGNUM: a header whose first bit is the sign, then the magnitude; all inverted if negative."""
    if value[0] & 0x80:
        return int.from_bytes(value[_BIGNUM_HEADER_BYTES:], "big")
    return -int.from_bytes(bytes(byte ^ 0xFF for byte in value[_BIGNUM_HEADER_BYTES:]), "big")
