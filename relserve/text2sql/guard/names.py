"""Names as DuckDB compares them."""

from __future__ import annotations

import string

_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(name: str) -> str:
    """A name in lower case; DuckDB folds the letters of ASCII alone, so the Kelvin sign is no k."""
    return name.translate(_TO_LOWER)
