"""Code fences, in which models put their answers where nothing keeps them to a grammar."""

from __future__ import annotations

import re

_FENCE = re.compile(r"```(?>(?:json|text|plaintext)\b)?+(.*)```", re.DOTALL | re.IGNORECASE)


def unfenced(text: str) -> str:
    """What stands between the fences of a reply; the reply itself where it is not all between two fences."""
    fenced = _FENCE.fullmatch(text.strip())
    return text if fenced is None else fenced[1].strip()
