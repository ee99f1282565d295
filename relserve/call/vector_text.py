"""Vectors as the texts of replies: the bytes of their numbers in base 64, quicker to read than JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

KIND = pa.list_(pa.float32())
_FLOATS = np.dtype("<f4")


def text_of_vector(vector: ArrayLike) -> str | None:
    """A vector, divided by its length; None where it has no length, or a number is not finite."""
    numbers = np.asarray(vector, np.float64)
    length = np.linalg.norm(numbers)
    if not 0 < length < np.inf:
        return None
    return base64.b64encode((numbers / length).astype(_FLOATS).tobytes()).decode()


def vector_of_text(text: str) -> NDArray[np.float32]:
    """The vector that `text_of_vector` wrote."""
    return np.frombuffer(base64.b64decode(text), _FLOATS)


def column_of_texts(texts: Sequence[str | None]) -> pa.Array:
    """The vectors of texts as a column of lists, NULL for None."""
    # base64.b64decode would copy each text first.
    found = {text: b"" if text is None else binascii.a2b_base64(text) for text in dict.fromkeys(texts)}
    rows = list(map(found.__getitem__, texts))
    ends = np.cumsum([0, *map(len, rows)]) // _FLOATS.itemsize
    mask = np.array([text is None for text in texts] + [False]) if None in found else None
    starts = pa.array(ends.astype(np.int32), pa.int32(), mask=mask)
    return pa.ListArray.from_arrays(starts, pa.array(np.frombuffer(b"".join(rows), _FLOATS), pa.float32()))


def json_of_text(text: str) -> str:
    """The vector of a text as a JSON list."""
    return msgspec.json.encode(vector_of_text(text).round(6).tolist()).decode()
