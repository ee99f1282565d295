"""The llm calls of a statement as a table for people: one line a call, as wide as the screen allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from relserve.call.hosts import is_url
from relserve.prices.price import dollars
from relserve.session.estimate import Estimate
from relserve_duckdb.explain.call_estimate import CallEstimate

MAX_CALL, MIN_CALL = 48, 20  # characters of a call that the table shows
MIN_COLUMNS = 5  # shown however narrow the screen is
GAP, CUT = "  ", "...')"


def calls_table(calls: Sequence[CallEstimate], width: int) -> str:
    """The table as far as it fits: long calls are shortened, then the last columns left out."""
    is_cached = any(call.estimate is not None and call.estimate.num_cached is not None for call in calls)
    left_out = ({"cached"} if not is_cached else set()) | ({"cost"} if not is_priced(calls) else set())
    columns = [column for column in _COLUMNS if column.head not in left_out]
    cells = [[column.head, *(column.cell(call) for call in calls)] for column in columns]
    widths = [max(map(cell_len, texts)) for texts in cells]
    while len(widths) > MIN_COLUMNS and _total(widths) - widths[1] + MIN_CALL > width:
        cells.pop()
        widths.pop()
    widths[1] = min(widths[1], max(MIN_CALL, width - _total(widths) + widths[1]))
    cells[1] = [_shortened(text, widths[1]) for text in cells[1]]
    lines = []
    for texts in zip(*cells, strict=True):
        padded = [
            column.padded(text, size) for column, text, size in zip(columns, texts, widths, strict=False)
        ]
        lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def is_priced(calls: Sequence[CallEstimate]) -> bool:
    """Whether money is told of: a price is known, or a server's that somebody may have to pay."""
    return any(call.cost or (call.estimate is not None and is_url(call.estimate.model)) for call in calls)


def duration(seconds: float) -> str:
    """A prediction as people read it: it is never exact."""
    if seconds < 1:
        return "under 1 s" if seconds else "0 s"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _shortened(call: str, width: int) -> str:
    return call if cell_len(call) <= width else set_cell_size(call, width - len(CUT)).rstrip() + CUT


@dataclass(frozen=True)
class _Column:
    """A column of the text; `cell` gives what it says about a call that a rehearsal reached."""

    head: str
    cell: Callable[[CallEstimate], str]
    is_text: bool = False

    def padded(self, text: str, width: int) -> str:
        space = " " * (width - cell_len(text))
        return text + space if self.is_text else space + text


def _known(tell: Callable[[CallEstimate, Estimate], str]) -> Callable[[CallEstimate], str]:
    """A cell that is a question mark where no rehearsal reached the call."""
    return lambda call: "?" if call.estimate is None else tell(call, call.estimate)


def _bound(call: CallEstimate, number: int) -> str:
    if call.estimate is not None and call.estimate.asked is not None:
        return f"about {number:,}"
    return f"<= {number:,}" if call.at_most else f"{number:,}"


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _tokens(call: CallEstimate, found: Estimate) -> str:
    about = "" if found.is_counted else "about "
    return "?" if call.prompt_tokens is None else f"{about}{call.prompt_tokens:,}"


def _call(call: CallEstimate) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in call.template).split())
    return _shortened(f"{call.function}('{text}')", MAX_CALL)


_COLUMNS = (
    _Column("#", lambda call: str(call.number)),
    _Column("call", _call, is_text=True),
    _Column("rows", _known(lambda call, found: _bound(call, found.num_rows))),
    _Column("distinct", _known(lambda call, found: _bound(call, found.num_distinct))),
    _Column("prompt tokens", _known(_tokens)),
    _Column("time", lambda call: "unknown" if call.seconds is None else duration(call.seconds), is_text=True),
    _Column("cost", lambda call: dollars(call.cost)),
    _Column("depends on", lambda call: ", ".join(f"#{each}" for each in call.depends_on), is_text=True),
    _Column("output tokens", _known(lambda call, found: f"<= {found.max_output_tokens:,}")),
    _Column("cached", _known(lambda call, found: _number(found.num_cached))),
    _Column("NULL", _known(lambda call, found: f"{found.num_null:,}")),
    _Column("shared", _known(lambda call, found: "?" if call.shared is None else f"{call.shared:.0%}")),
)
