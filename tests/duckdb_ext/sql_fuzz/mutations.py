"""Texts that somebody broke: tokens dropped, doubled, swapped, replaced, cut off in the middle."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from sql_cases import SMALL

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|[^\w\s]")
# might run for ever, use files, or have what the oracle cannot print: BLOBs, names in templates, eight values
_NEVER = re.compile(r"(?i)recursive|range|series|copy|small\.|blob|(\{\} ){4}|'[^']*\{\w")
SEEDS = [case.sql for case in SMALL if case.parameters is None and not _NEVER.search(case.sql)]
STRAY = [
    "(", ")", "[", "]", "{", "}", ",", ";", "'", '"', ".", ":=", "=>", "*", "--", "/*", "$$", "$1", "?",
    "::", "#1",
    "llm", "llm_filter", "llm(", "llm('{}'", "llm()", "SELECT", "FROM", "WHERE", "AND", "NULL", "t", 
    "id", "name", "0",
    "AS", "NOT", "DISTINCT", "LIMIT 1", "GROUP BY", "UNION", "CASE", "OVER ()", "max_tokens := 0",
    "choices := []",
    "😀", "\\", "EXPLAIN", "prompt", "a0", "__llm_1",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A case of the suite with one to three places broken."""
    tokens = _TOKEN.findall(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        if not tokens:
            break
        i = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "insert", "replace", "cut", "case"])):
            case "drop":
                del tokens[i]
            case "double":
                tokens.insert(i, tokens[i])
            case "swap":
                j = draw(st.integers(0, len(tokens) - 1))
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case "insert":
                tokens.insert(i, f" {draw(st.sampled_from(STRAY))} ")
            case "replace":
                tokens[i] = draw(st.sampled_from(STRAY))
            case "cut":
                del tokens[i + 1 :]
            case "case":
                tokens[i] = tokens[i].swapcase()
    return "".join(tokens)
