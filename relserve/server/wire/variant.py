"""DuckDB's VARIANT, which Arrow brings in Parquet's variant encoding, as JSON texts.

The encoding: https://github.com/apache/parquet-format/blob/master/VariantEncoding.md
"""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from relserve.server.wire.moments import moment_of_day, moment_of_instant, time_of_day

_PRIMITIVE, _SHORT_TEXT, _OBJECT = 0, 1, 2
_NO_NUMBERS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def is_variant(kind: pa.DataType) -> bool:
    """Whether an Arrow type is that of a VARIANT; `metadata` of a user's own struct could be null."""
    return (
        pa.types.is_struct(kind)
        and [field.name for field in kind] == ["metadata", "value"]
        and not kind.field("metadata").nullable
    )


def variant_texts(array: pa.Array) -> pa.Array:
    """Each value as JSON; null stays null."""
    return pa.array(
        [None if row is None else _text(row["metadata"], row["value"]) for row in array.to_pylist()],
        pa.binary(),
    )


def _text(metadata: bytes, value: bytes | None) -> bytes | None:
    return None if value is None else _Variant(_names(metadata), value).json(0).encode()


def _names(metadata: bytes) -> list[str]:
    """The dictionary of the objects' field names."""
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    ends = [
        int.from_bytes(metadata[i : i + width], "little")
        for i in range(1 + width, 1 + width * (count + 2), width)
    ]
    texts = metadata[1 + width * (count + 2) :]
    return [texts[start:end].decode() for start, end in pairwise(ends)]


class _Variant(NamedTuple):
    """One value, in which others lie."""

    names: list[str]
    data: bytes

    def json(self, at: int) -> str:
        """The JSON of the value that starts here."""
        kind, header = self.data[at] & 3, self.data[at] >> 2
        if kind == _PRIMITIVE:
            return self._primitive(header, at + 1)
        if kind == _SHORT_TEXT:
            return _quoted(self.data[at + 1 : at + 1 + header].decode())
        return self._object(header, at + 1) if kind == _OBJECT else self._array(header, at + 1)

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self.data[at : at + width], "little")

    def _numbers(self, at: int, count: int, width: int) -> list[int]:
        return [self._number(at + i * width, width) for i in range(count)]

    def _object(self, header: int, at: int) -> str:
        width, id_width, count_width = (header & 3) + 1, (header >> 2 & 3) + 1, 4 if header & 16 else 1
        count = self._number(at, count_width)
        ids_at = at + count_width
        offsets_at = ids_at + count * id_width
        values_at = offsets_at + (count + 1) * width
        ids, offsets = self._numbers(ids_at, count, id_width), self._numbers(offsets_at, count, width)
        pairs = zip(ids, offsets, strict=True)
        return (
            "{" + ",".join(f"{_quoted(self.names[i])}:{self.json(values_at + at)}" for i, at in pairs) + "}"
        )

    def _array(self, header: int, at: int) -> str:
        width, count_width = (header & 3) + 1, 4 if header & 4 else 1
        count = self._number(at, count_width)
        offsets_at = at + count_width
        values_at = offsets_at + (count + 1) * width
        offsets = self._numbers(offsets_at, count, width)
        return "[" + ",".join(self.json(values_at + offset) for offset in offsets) + "]"

    def _primitive(self, kind: int, at: int) -> str:
        if kind in _SIZED:
            raw = self.data[at + 4 : at + 4 + self._number(at, 4)]
            return _quoted(raw.decode() if kind == _TEXT else "\\x" + raw.hex())
        form, write = _PRIMITIVES[kind]
        return write(*struct.unpack_from(form, self.data, at))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _float(value: float) -> str:
    return repr(value) if math.isfinite(value) else _quoted(_NO_NUMBERS.get(value, "NaN"))


def _decimal(scale: int, *unscaled: int) -> str:
    number = unscaled[0] if len(unscaled) == 1 else unscaled[0] | unscaled[1] << 64
    digits = f"{abs(number):0{scale + 1}d}"
    point = len(digits) - scale
    return f"{'-' if number < 0 else ''}{digits[:point]}{'.' if scale else ''}{digits[point:]}"


def _instant(per_microsecond: int, zone: str) -> Callable[[int], str]:
    return lambda ticks: _quoted(moment_of_instant(ticks // per_microsecond).as_postgres(zone))


_TEXT, _BINARY = 16, 15
_SIZED = (_BINARY, _TEXT)
_PRIMITIVES: dict[int, tuple[str, Callable[..., str]]] = {
    0: ("", lambda: "null"),
    1: ("", lambda: "true"),
    2: ("", lambda: "false"),
    3: ("<b", str),
    4: ("<h", str),
    5: ("<i", str),
    6: ("<q", str),
    7: ("<d", _float),
    8: ("<Bi", _decimal),
    9: ("<Bq", _decimal),
    10: ("<BQq", _decimal),
    11: ("<i", lambda day: _quoted(moment_of_day(day).as_postgres())),
    12: ("<q", _instant(1, "+00")),
    13: ("<q", _instant(1, "")),
    14: ("<f", lambda value: _float(float(str(np.float32(value))))),
    17: ("<q", lambda micros: _quoted(time_of_day(micros))),
    18: ("<q", _instant(1000, "+00")),
    19: ("<q", _instant(1000, "")),
    20: ("16s", lambda raw: _quoted(str(uuid.UUID(bytes=raw)))),
}
