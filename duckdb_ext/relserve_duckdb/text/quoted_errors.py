"""DuckDB's error messages about a text that stands in for the user's, quoting the user's."""

from __future__ import annotations

import re
from unicodedata import east_asian_width

from relserve_duckdb.text.stand_in import StandIn

MAX_QUOTED = 120  # characters of a line that are shown, as by DuckDB
EXPLAINED = "EXPLAIN (FORMAT JSON) "  # what stands before a text that is only planned
_CALL = re.compile(r"(\w++)\s*+\(")
_QUOTE = re.compile(r"(?m)^LINE (\d++): ([^\n]*+)\n( *+)(\^++)")


def quoting_the_user(message: str, text: StandIn) -> str:
    """The message with the line and place of the user's text; as it is, where it quotes something else."""
    quote = _QUOTE.search(message)
    place = None if quote is None else _place(quote, text.text)
    if quote is None or place is None:
        return message
    start, end = text.origin(*place)
    return message[: quote.start()] + quoted(text.written, start, end) + message[quote.end() :]


def called_at(message: str) -> str:
    """The function whose call an error points at; "" where it points at none."""
    quote = _QUOTE.search(message)
    at = quote and _CALL.match(quote[2], len(quote[3]) - len(f"LINE {quote[1]}: "))
    return at[1] if at else ""


def _place(quote: re.Match[str], text: str) -> tuple[int, int] | None:
    """Where in the text that ran the error begins and ends."""
    number, shown, margin = int(quote[1]), quote[2], len(quote[3]) - len(f"LINE {quote[1]}: ")
    lines = text.split("\n")
    if number > len(lines):
        return None
    line = lines[number - 1]
    if shown.startswith("...") and not line.startswith("..."):
        shown, margin = shown.removeprefix("..."), margin - len("...")
    before = EXPLAINED if number == 1 else ""  # which may be cut off in the middle
    ran = before + line
    begin = ran.find(shown if shown in ran else shown.removesuffix("..."))
    first = begin + _num_characters(ran[begin:], margin) - len(before)
    if begin < 0 or first < 0:
        return None
    end = first + max(_num_characters(line[first:], len(quote[4])), 1)
    above = sum(len(each) + 1 for each in lines[: number - 1])
    return above + first, above + end


def quoted(written: str, start: int, stop: int) -> str:
    """The line of a place in the user's text, cut around it where it is long, and carets below the place."""
    before = written[:start].split("\n")
    line = written.split("\n")[len(before) - 1]
    column = len(before[-1])
    begin = max(0, min(column - MAX_QUOTED // 2, len(line) - MAX_QUOTED))
    end = begin + MAX_QUOTED
    head = f"LINE {len(before)}: {'...' if begin else ''}"
    marked = line[column : min(column + stop - start, end)]
    margin = " " * (len(head) + _width(line[begin:column]))
    tail = "..." if end < len(line) else ""
    return f"{head}{line[begin:end]}{tail}\n{margin}{'^' * max(_width(marked), 1)}"


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _num_characters(text: str, width: int) -> int:
    """How many characters of a text take so many columns."""
    for i, character in enumerate(text):
        if width <= 0:
            return i
        width -= _width(character)
    return len(text)
