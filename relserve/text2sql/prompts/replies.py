"""What a model's reply says, whatever stands around it."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import pairwise
from typing import Any

import duckdb

_THOUGHTS = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[ \t]*+(\w*+)[^\n`]*+\n(.*?)(?:```|\Z)", re.DOTALL)
_QUERY = re.compile(
    r"^[ \t]*(?:(?:SQL|Answer|Query)[ \t]*:[ \t]*)?((?:SELECT|WITH|FROM)\b.*)", re.I | re.M | re.S
)
_NONE = re.compile(r"\W*(?:none|no table fits)\W*", re.IGNORECASE)


def says_none(reply: str) -> bool:
    """Whether a reply is that there is no answer."""
    return _NONE.fullmatch(_THOUGHTS.sub("", reply)) is not None


def sql_in(reply: str) -> str | None:
    """The SQL in a reply; None: there is none.

    It is the last block in code fences, the field "sql" of JSON, or what begins with SELECT, WITH or FROM up
    to an empty line after its semicolon.
    """
    told = _THOUGHTS.sub("", reply).strip()
    fenced = [text for language, text in _FENCE.findall(told) if language.lower() in ("", "sql", "duckdb")]
    if fenced:
        return bare(fenced[-1])
    found = json_in(told, dict) or {}
    if isinstance(found.get("sql"), str):
        return bare(found["sql"])
    query = _QUERY.search(told)
    if query is None:
        return None
    return bare(re.split(r";[ \t]*\n[ \t]*\n|```|\n[ \t]*\n(?=[A-Z][a-z]+ [a-z]+)", query[1], maxsplit=1)[0])


def has_whole_sql(reply: str) -> bool:
    """Whether SQL in a reply that was cut ends before the reply does; only fences and JSON tell so."""
    told = _THOUGHTS.sub("", reply)
    if _FENCE.search(told):
        return told.count("```") % 2 == 0
    return isinstance((json_in(told, dict) or {}).get("sql"), str)


def json_in(reply: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    """The first JSON list, or object, in a reply; None: there is none."""
    told = _THOUGHTS.sub("", reply)
    decoder = json.JSONDecoder()
    for start in re.finditer(r"\[" if kind is list else r"\{", told):
        with suppress(ValueError, RecursionError):
            found = decoder.raw_decode(told, start.start())[0]
            json.dumps(found, ensure_ascii=False).encode()  # halves of characters are no text
            return found
    return None


def bare(sql: str) -> str | None:
    """The statement alone: without comments before and after it, and its semicolon; None: nothing is left.

    Where there are several statements, all of them stay, for the guard to refuse.
    """
    try:
        data = sql.encode()
    except UnicodeEncodeError:  # half a character
        return None
    ends = [*(at for at, _ in duckdb.tokenize(sql)), len(data)]
    words = [(data[at:end].decode(errors="replace").strip(), at, end) for at, end in pairwise(ends)]
    kinds = [kind for _, kind in duckdb.tokenize(sql)]
    spans = [
        (at, end) for (word, at, end), kind in zip(words, kinds, strict=True)
        if kind != duckdb.token_type.comment and word.strip(";")
    ]  # fmt: skip
    return data[spans[0][0] : spans[-1][1]].decode().strip() if spans else None
