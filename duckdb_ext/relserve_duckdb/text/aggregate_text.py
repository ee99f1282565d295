"""A text whose llm_agg and llm_rank calls have DISTINCT, ORDER BY, FILTER or OVER, as DuckDB can run it.

Both are macros, and a macro cannot take them; DuckDB's list() can. So `llm_agg('t', x ORDER BY y) FILTER
(WHERE c)` becomes `temp.main.llm_agg_list('t', system.main.list(x ORDER BY y) FILTER (WHERE c))`, where it
stands: by their whole names, for a database may have macros of the short ones. Columns keep the names that
the user's text gives them, and where each character comes from is known, so that errors quote it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from relserve_duckdb.text.aggregate_calls import AggregateCall, find_aggregate_calls
from relserve_duckdb.text.call_limits import ASCENDING, LISTS
from relserve_duckdb.text.select_items import select_items
from relserve_duckdb.text.stand_in import StandIn, TextPiece
from relserve_duckdb.text.tokens import Tokens, TokenSpan, tokens_of

log = logging.getLogger(__name__)

NameOf = Callable[[str], str | None]


def aggregate_text(written: str, name_of: NameOf) -> StandIn | None:
    """What to run for a statement, None when it runs as it is written.

    Args:
        name_of: the name that DuckDB gives an item of a SELECT list, None when it has an alias.

    Raises:
        UsageError: a call has not one value.
    """
    if not any(function in written.lower() for function in LISTS):
        return None
    try:
        tokens = tokens_of(written)
    except SqlglotError as error:
        log.debug("sqlglot cannot read %r: %s", written[:200], error)
        return None
    calls = find_aggregate_calls(tokens)
    if not calls:
        return None
    numbers = _parameter_numbers(written, tokens)
    names = {}
    for item in select_items(tokens):
        if any(item.first <= first <= item.last for first in calls):
            plain = _Writer(written, tokens, {}, numbers, {})
            plain.write(item)
            names[item.last] = name_of(StandIn(written, tuple(plain.pieces)).text)
    writer = _Writer(written, tokens, calls, numbers, names)
    writer.copy(0, tokens[0].start)
    writer.write(TokenSpan(0, len(tokens) - 1))
    writer.copy(tokens[-1].end + 1, len(written))
    return StandIn(written, tuple(writer.pieces))


def _parameter_numbers(written: str, tokens: Tokens) -> dict[int, int]:
    """The number of each `?`, by token: a call's parts change places, and its parameters must not."""
    marks = [i for i, token in enumerate(tokens) if token.token_type is TokenType.PLACEHOLDER]
    plain = [i for i in marks if not written[tokens[i].end + 1 : tokens[i].end + 2].isdigit()]
    return {i: number for number, i in enumerate(plain, 1)}


@dataclass
class _Writer:
    """Writes a text's tokens, the calls among them changed.

    Attributes:
        names: what to call the item of a SELECT list that ends with a token.
    """

    written: str
    tokens: Tokens
    calls: Mapping[int, AggregateCall]
    numbers: Mapping[int, int]
    names: Mapping[int, str | None]
    pieces: list[TextPiece] = field(default_factory=list)

    def copy(self, start: int, end: int) -> None:
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.text is None and last.end == start:
            self.pieces[-1] = TextPiece(None, last.start, end)
        elif start < end:
            self.pieces.append(TextPiece(None, start, end))

    def write(self, span: TokenSpan, whole: TokenSpan | None = None) -> None:
        """Write the tokens of a span and what stands between them.

        Args:
            whole: the call whose part this is; an item of a SELECT list may end where the call does.
        """
        i = span.first
        while i <= span.last:
            if i > span.first:
                self.copy(self.tokens[i - 1].end + 1, self.tokens[i].start)
            if i in self.calls:
                self._write_call(self.calls[i])
                i = self.calls[i].span.last
            elif i in self.numbers:
                self._put(f"${self.numbers[i]}", i)
            else:
                self.copy(self.tokens[i].start, self.tokens[i].end + 1)
            if (name := self.names.get(i)) and (whole is None or i < whole.last):
                self._put(f' AS "{name.replace(chr(34), chr(34) * 2)}"', i)
            i += 1

    def _write_call(self, call: AggregateCall) -> None:
        first = call.span.first
        self._put(f"temp.main.{LISTS[call.function]}(", first)
        self.write(call.template, call.span)
        self._put(f", system.main.list({'DISTINCT ' * call.distinct}", first)
        self.write(call.value, call.span)
        self._write_part(" ", call.order, call.span)
        self._put(")", first)
        self._write_part(" ", call.after, call.span)
        for option in call.options:
            self._write_part(", ", option, call.span)
        if call.order is None:  # a group must give the same prompt twice
            self._put(f", {ASCENDING} := true", first)
        self._put(")", first)

    def _write_part(self, before: str, part: TokenSpan | None, whole: TokenSpan) -> None:
        if part is not None:
            self._put(before, whole.first)
            self.write(part, whole)

    def _put(self, text: str, token: int) -> None:
        found = self.tokens[token]
        self.pieces.append(TextPiece(text, found.start, found.end + 1))
