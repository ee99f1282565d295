"""How many counts a pattern keeps at once where its repeats are nested, as in ((a{0,1000}){0,1000}){0,1000}.

xgrammar compiles repeats without writing them out. But after each token of an answer it follows all ways in
which the text so far may be one, and `(a{0,1000}){0,1000}` has as many as there are pairs of counts. 11,000
of them take 20 ms a token, 30,000 take 80 ms. With three nested repeats the 15th token takes 1 s. All rows
of the engine wait meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_COUNTS = 10_000
_MOST_RULES = 200  # that stand one in the other
_COMMON = r"""\\. | \[(?:\\.|[^\]\\])*+\]? | (?P<open>\() | (?P<close>\)) | (?P<often>[*+?])
    | \{\s*+(?P<least>\d++)\s*+(?:,\s*+(?P<most>\d*+)\s*+)?+\}"""
_REGEX = re.compile(rf"{_COMMON} | (?P<name>(?!)) | .", re.S | re.X)
_EBNF = re.compile(
    rf"""\#[^\n]*+ | "(?:\\.|[^"\\])*+"? | {_COMMON} | (?P<name>[A-Za-z_][\w.-]*+) | \s++ | .""", re.S | re.X
)
_RULE = re.compile(r"(?m)^[ \t]*+([A-Za-z_][\w.-]*+)\s*+::=")
Counts = tuple[int, int]  # of repeats in which none stands, and of those in which one does
_NONE = 0, 0


def counts_of_regex(pattern: str) -> int:
    """Counts of the repeats in a regex that stand in others; 0: no repeat does."""
    return _counts(pattern, _REGEX, lambda name: _NONE)[1]


def counts_of_ebnf(grammar: str) -> int:
    """The same of a grammar in EBNF, whose rules may stand in repeats, too."""
    starts = [*_RULE.finditer(grammar)]
    ends = [each.start() for each in starts[1:]] + [len(grammar)]
    bodies = {each[1]: grammar[each.end() : end] for each, end in zip(starts, ends, strict=False)}
    known: dict[str, Counts] = {}

    def of_rule(name: str, depth: int = 0) -> Counts:
        if name not in known and name in bodies:
            known[name] = (0, MAX_COUNTS + 1) if depth > _MOST_RULES else _NONE  # inside of itself it is none
            if depth <= _MOST_RULES:
                known[name] = _counts(bodies[name], _EBNF, lambda inner: of_rule(inner, depth + 1))
        return known.get(name, _NONE)

    return max((of_rule(name)[1] for name in bodies), default=0)


def why_refused(kind: str, counts: int) -> str:
    """Why a pattern of so many counts is not taken; "" where it is.

    Args:
        kind: what it is called.
    """
    if counts <= MAX_COUNTS:
        return ""
    return (
        f"{kind} has repeats in repeats, as (a{{0,100}}){{0,200}}, of {counts:,} counts in all; the most is "
        f"{MAX_COUNTS:,}, for each token would hold up the engine: take smaller ones, or * and +"
    )


def _counts(pattern: str, tokens: re.Pattern[str], of_name: Callable[[str], Counts]) -> Counts:
    groups, last = [_NONE], _NONE
    for found in tokens.finditer(pattern):
        before = _NONE
        if found["often"] or found[0].isspace() or found[0].startswith("#"):
            continue
        if found["open"]:
            groups.append(_NONE)
            continue
        if found["least"]:
            times = int((found["most"] or found["least"])[:9])
            before = last
            last = (0, sum(last) * times) if any(last) and times > 1 else (max(last[0], times), last[1])
        elif found["close"]:
            last = groups.pop() if len(groups) > 1 else _NONE
        else:
            last = of_name(found["name"]) if found["name"] else _NONE
        groups[-1] = groups[-1][0] - before[0] + last[0], groups[-1][1] - before[1] + last[1]
    return sum(flat for flat, _ in groups), sum(nested for _, nested in groups)
