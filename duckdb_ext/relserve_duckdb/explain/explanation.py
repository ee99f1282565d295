"""What `explain_llm` gives: one row a call site, as text for people and as a table for programs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap

import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from relserve.call.hosts import is_url
from relserve.prices.price import dollars
from relserve.session.estimate import Estimate
from relserve.session.sureness import QUANTILES
from relserve_duckdb.explain.call_estimate import CallEstimate

SCHEMA = pa.schema(
    [
        ("call", pa.int64()), ("function", pa.string()), ("template", pa.string()), ("model", pa.string()),
        ("rows", pa.int64()), ("null_rows", pa.int64()), ("distinct_prompts", pa.int64()),
        ("cached_answers", pa.int64()), ("prompt_tokens", pa.int64()), ("counted", pa.bool_()),
        ("shared_prefix", pa.float64()), ("max_output_tokens", pa.int64()), ("seconds", pa.float64()),
        ("seconds_from", pa.string()), ("depends_on", pa.list_(pa.int64())), ("at_most", pa.bool_()),
        ("cost", pa.float64()), ("sampled", pa.int64()), *((name, pa.float64()) for name in QUANTILES),
    ]
)  # fmt: skip
_MAX_CALL, MIN_CALL = 48, 20  # characters of a call that the table shows
_MIN_COLUMNS = 5  # shown however narrow the screen is
_GAP, CUT = "  ", "...')"
DEFAULT_WIDTH = 120  # characters, where nobody looks at a terminal


@dataclass(frozen=True)
class Explanation:
    """What a statement's llm calls would ask; nothing but a sample was asked. Printing it shows a table.

    Attributes:
        calls: the call sites, in the order in which they would be asked.
        notes: what else there is to know, in sentences; also why there are no numbers.
    """

    calls: tuple[CallEstimate, ...]
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """One row a call site: the columns of `SCHEMA`; NULL where nothing is known."""
        return pa.Table.from_pylist([_row(call) for call in self.calls], SCHEMA)

    @property
    def seconds(self) -> float | None:
        """Of all calls, one after another; None where one is not known."""
        known = [call.seconds for call in self.calls if call.seconds is not None]
        return sum(known) if len(known) == len(self.calls) else None

    @property
    def cost(self) -> float | None:
        """US dollars that all calls will likely take; None where one is not known."""
        known = [call.cost for call in self.calls if call.cost is not None]
        return sum(known) if len(known) == len(self.calls) else None

    @property
    def total(self) -> str:
        """All call sites in one line."""
        if not self.calls:
            return "no llm call asks anything"
        known = [call.estimate for call in self.calls if call.estimate is not None]
        bound = "at most " if any(call.at_most for call in self.calls) else ""
        complete = all(call.prompt_tokens is not None for call in self.calls)
        tokens = sum(call.prompt_tokens or 0 for call in self.calls)
        exact = all(each.is_counted for each in known)
        sizes = f"{'' if exact else 'about '}{tokens:,} prompt tokens" + ("" if complete else " and more")
        seconds = "unknown" if self.seconds is None else _duration(self.seconds)
        return (
            f"{_plural(len({call.number for call in self.calls}), 'llm call')}: "
            f"{bound}{_plural(sum(f.num_rows for f in known), 'row')}, "
            f"{_plural(sum(f.num_distinct for f in known), 'distinct prompt')}, {sizes}, "
            f"at most {sum(f.max_output_tokens for f in known):,} output tokens; time: {seconds}"
            + (f"; cost: {bound}{dollars(self.cost)}" if _is_priced(self.calls) else "")
        )

    def __str__(self) -> str:
        width = screen_width()
        table = [_calls_table(self.calls, width)] if self.calls else []
        sentences = [line for text in (self.total, *self.notes) for line in wrap(text, width)]
        return "\n".join([*table, *sentences])

    __repr__ = __str__


def _row(call: CallEstimate) -> dict[str, object]:
    f = call.estimate
    return dict(
        call=call.number, function=call.function, template=call.template, model=f.model if f else None,
        rows=f.num_rows if f else None, null_rows=f.num_null if f else None,
        distinct_prompts=f.num_distinct if f else None, cached_answers=f.num_cached if f else None,
        prompt_tokens=call.prompt_tokens,
        counted=f.is_counted if f and call.prompt_tokens is not None else None,
        shared_prefix=call.shared, max_output_tokens=f.max_output_tokens if f else None,
        seconds=call.seconds, seconds_from=call.seconds_from, depends_on=list(call.depends_on),
        at_most=call.at_most, cost=call.cost,
        **(dict(sampled=call.sampled.num, **call.sampled.quantiles()) if call.sampled is not None else {}),
    )  # fmt: skip


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _calls_table(calls: Sequence[CallEstimate], width: int) -> str:
    """The table as far as it fits: long calls are shortened, then the last columns left out."""
    is_cached = any(call.estimate is not None and call.estimate.num_cached is not None for call in calls)
    left_out = ({"cached"} if not is_cached else set()) | ({"cost"} if not _is_priced(calls) else set())
    columns = [column for column in _COLUMNS if column.head not in left_out]
    cells = [[column.head, *(column.cell(call) for call in calls)] for column in columns]
    widths = [max(map(cell_len, texts)) for texts in cells]
    while len(widths) > _MIN_COLUMNS and _total(widths) - widths[1] + MIN_CALL > width:
        cells.pop()
        widths.pop()
    widths[1] = min(widths[1], max(MIN_CALL, width - _total(widths) + widths[1]))
    cells[1] = [_shortened(text, widths[1]) for text in cells[1]]
    lines = []
    for texts in zip(*cells, strict=True):
        padded = [
            column.padded(text, size) for column, text, size in zip(columns, texts, widths, strict=False)
        ]
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _is_priced(calls: Sequence[CallEstimate]) -> bool:
    """Whether money is told of: a price is known, or a server's that somebody may have to pay."""
    return any(call.cost or (call.estimate is not None and is_url(call.estimate.model)) for call in calls)


def _duration(seconds: float) -> str:
    """A prediction as people read it: it is never exact."""
    if seconds < 1:
        return "under 1 s" if seconds else "0 s"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


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
    return _shortened(f"{call.function}('{text}')", _MAX_CALL)


_COLUMNS = (
    _Column("#", lambda call: str(call.number)),
    _Column("call", _call, is_text=True),
    _Column("rows", _known(lambda call, found: _bound(call, found.num_rows))),
    _Column("distinct", _known(lambda call, found: _bound(call, found.num_distinct))),
    _Column("prompt tokens", _known(_tokens)),
    _Column(
        "time", lambda call: "unknown" if call.seconds is None else _duration(call.seconds), is_text=True
    ),
    _Column("cost", lambda call: dollars(call.cost)),
    _Column("depends on", lambda call: ", ".join(f"#{each}" for each in call.depends_on), is_text=True),
    _Column("output tokens", _known(lambda call, found: f"<= {found.max_output_tokens:,}")),
    _Column("cached", _known(lambda call, found: _number(found.num_cached))),
    _Column("NULL", _known(lambda call, found: f"{found.num_null:,}")),
    _Column("shared", _known(lambda call, found: "?" if call.shared is None else f"{call.shared:.0%}")),
)


def screen_width() -> int:
    """Characters of a line: the terminal's where standard output is one."""
    if sys.stdout is None or not sys.stdout.isatty():
        return DEFAULT_WIDTH
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
