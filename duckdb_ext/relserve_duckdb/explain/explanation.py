"""What `explain_llm` gives: one row a call site, as text for people and as a table for programs."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

import pyarrow as pa

from relserve.session.estimate import Estimate

MAX_CALL = 48  # characters of a call that the text shows
WIDTH = 200

SCHEMA = pa.schema(
    [
        ("call", pa.int64()), ("function", pa.string()), ("template", pa.string()), ("model", pa.string()),
        ("rows", pa.int64()), ("null_rows", pa.int64()), ("distinct_prompts", pa.int64()),
        ("cached_answers", pa.int64()), ("prompt_tokens", pa.int64()), ("counted", pa.bool_()),
        ("shared_prefix", pa.float64()), ("max_output_tokens", pa.int64()), ("seconds", pa.float64()),
        ("seconds_from", pa.string()), ("depends_on", pa.list_(pa.int64())), ("at_most", pa.bool_()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class CallEstimate:
    """One call site.

    Attributes:
        number: from 1, in the order in which the sites would be asked.
        forecast: None where no trial reached the call.
        depends_on: numbers of the calls whose answers decide which rows or values reach this one.
        at_most: its rows are an upper bound, as far as trials with made-up answers can tell.
        holds_answers: its prompts hold another call's text, so that their tokens cannot be told.
    """

    number: int
    function: str
    template: str
    forecast: Estimate | None
    depends_on: tuple[int, ...] = ()
    at_most: bool = False
    holds_answers: bool = False

    @property
    def prompt_tokens(self) -> int | None:
        return None if self.forecast is None or self.holds_answers else self.forecast.prompt_tokens

    @property
    def shared(self) -> float | None:
        return None if self.forecast is None or self.holds_answers else self.forecast.shared

    @property
    def seconds(self) -> float | None:
        return None if self.forecast is None or self.holds_answers else self.forecast.seconds

    @property
    def seconds_from(self) -> str:
        """What `seconds` rests on, or why it is None."""
        if self.forecast is None:
            return "no trial reached it"
        return "its prompts hold another call's answers" if self.holds_answers else self.forecast.basis


@dataclass(frozen=True)
class Explanation:
    """What a statement's llm calls would ask; nothing was asked. Printing it shows a table.

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
    def total(self) -> str:
        """All call sites in one line."""
        if not self.calls:
            return "no llm call asks anything"
        known = [call.forecast for call in self.calls if call.forecast is not None]
        bound = "at most " if any(call.at_most for call in self.calls) else ""
        complete = all(call.prompt_tokens is not None for call in self.calls)
        tokens = sum(call.prompt_tokens or 0 for call in self.calls)
        exact = all(forecast.is_counted for forecast in known)
        sizes = f"{'' if exact else 'about '}{tokens:,} prompt tokens" + ("" if complete else " and more")
        seconds = "unknown" if self.seconds is None else duration(self.seconds)
        return (
            f"{_plural(len(self.calls), 'llm call')}: "
            f"{bound}{_plural(sum(f.num_rows for f in known), 'row')}, "
            f"{_plural(sum(f.num_distinct for f in known), 'distinct prompt')}, {sizes}, "
            f"at most {sum(f.max_output_tokens for f in known):,} output tokens; time: {seconds}"
        )

    def __str__(self) -> str:
        return "\n".join([*([_drawn(self.calls)] if self.calls else []), self.total, *self.notes])

    __repr__ = __str__


def duration(seconds: float) -> str:
    """A prediction as people read it: it is never exact."""
    if seconds < 1:
        return "under 1 s" if seconds else "0 s"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _row(call: CallEstimate) -> dict[str, object]:
    f = call.forecast
    return dict(
        call=call.number, function=call.function, template=call.template, model=f.model if f else None,
        rows=f.num_rows if f else None, null_rows=f.num_null if f else None,
        distinct_prompts=f.num_distinct if f else None, cached_answers=f.num_cached if f else None,
        prompt_tokens=call.prompt_tokens,
        counted=f.is_counted if f and call.prompt_tokens is not None else None,
        shared_prefix=call.shared, max_output_tokens=f.max_output_tokens if f else None,
        seconds=call.seconds, seconds_from=call.seconds_from, depends_on=list(call.depends_on),
        at_most=call.at_most,
    )  # fmt: skip


def _drawn(calls: tuple[CallEstimate, ...]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cached = any(call.forecast is not None and call.forecast.num_cached is not None for call in calls)
    heads = ["#", "call", "rows", "NULL", "distinct", *(["cached"] if cached else []), "prompt tokens",
             "shared", "output tokens", "time", "depends on"]  # fmt: skip
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(
            head, justify="left" if head in ("call", "time", "depends on") else "right", no_wrap=True
        )
    for call in calls:
        table.add_row(*map(Text, _cells(call, cached)))
    screen = Console(file=StringIO(), width=WIDTH, color_system=None)
    with screen.capture() as captured:
        screen.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _cells(call: CallEstimate, cached: bool) -> list[str]:
    f = call.forecast
    depends = ", ".join(f"#{number}" for number in call.depends_on)
    if f is None:
        return [str(call.number), _call(call), *["?"] * (7 + cached), "unknown", depends]
    bound, about = ("<= " if call.at_most else ""), ("" if f.is_counted else "about ")
    kept = [] if not cached else ["" if f.num_cached is None else f"{f.num_cached:,}"]
    tokens = "?" if call.prompt_tokens is None else f"{about}{call.prompt_tokens:,}"
    shared = "?" if call.shared is None else f"{call.shared:.0%}"
    seconds = "unknown" if call.seconds is None else duration(call.seconds)
    return [
        str(call.number), _call(call), f"{bound}{f.num_rows:,}", f"{f.num_null:,}",
        f"{bound}{f.num_distinct:,}", *kept, tokens, shared, f"<= {f.max_output_tokens:,}", seconds, depends,
    ]  # fmt: skip


def _call(call: CallEstimate) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in call.template).split())
    shown = f"{call.function}('{text}')"
    return shown if len(shown) <= MAX_CALL else shown[: MAX_CALL - 5] + "...')"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
