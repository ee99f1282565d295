"""What `explain_llm` gives: one row a call site, as text for people and as a table for programs."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

import pyarrow as pa

from relserve.prices.price import dollars
from relserve.session.sureness import QUANTILES
from relserve_duckdb.explain.call_estimate import CallEstimate
from relserve_duckdb.explain.calls_table import calls_table, duration, is_priced
from relserve_duckdb.explain.screen import screen_width

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
        seconds = "unknown" if self.seconds is None else duration(self.seconds)
        return (
            f"{_plural(len({call.number for call in self.calls}), 'llm call')}: "
            f"{bound}{_plural(sum(f.num_rows for f in known), 'row')}, "
            f"{_plural(sum(f.num_distinct for f in known), 'distinct prompt')}, {sizes}, "
            f"at most {sum(f.max_output_tokens for f in known):,} output tokens; time: {seconds}"
            + (f"; cost: {bound}{dollars(self.cost)}" if is_priced(self.calls) else "")
        )

    def __str__(self) -> str:
        width = screen_width()
        table = [calls_table(self.calls, width)] if self.calls else []
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
