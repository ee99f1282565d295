"""Answers that come as {"answer": ..}, since schemas must describe an object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from relserve.engines.http.dialect import encodable

BEGIN = re.compile(r'\s*\{\s*"answer"\s*:\s*')  # of most
_SPACE = re.compile(r"[ \t\n\r]*+")
_decoder = json.JSONDecoder()


def unwrapped(text: str) -> str:
    """The answer in {"answer": ..}; the text itself where a server took the schema but did not keep to it.

    A text is given as it is, anything else as its JSON. Other members are left aside; two answers that differ
    are none.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        found = {value for name, value in _members(text) if name == "answer"}
    except ValueError:
        return text
    if len(found) != 1:
        return text
    (answer,) = found
    # Other JSON stays as it was written, since reading and writing it anew would round its numbers.
    return encodable(json.loads(answer)) if answer.startswith('"') else answer


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object: each one's name, and the JSON of its value.

    Raises:
        ValueError: it is no JSON object, or something follows.
    """
    whole = text.strip()
    if not whole.startswith("{"):
        raise ValueError("no JSON object")
    json.loads(whole)  # what follows may then take commas and colons for granted
    place = _after_space(whole, 1)
    while whole[place] != "}":
        name, end = _decoder.raw_decode(whole, place)
        start = _after_space(whole, _after_space(whole, end) + 1)
        _, end = _decoder.raw_decode(whole, start)
        yield name, whole[start:end]
        place = _after_space(whole, end)
        if whole[place] == ",":
            place = _after_space(whole, place + 1)


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
