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

from relserve.errors import UsageError
from relserve_duckdb.text.call_limits import ASCENDING, LISTS, one_value_only
from relserve_duckdb.text.select_items import select_items
from relserve_duckdb.text.stand_in import StandIn, TextPiece
from relserve_duckdb.text.tokens import (
    Tokens,
    TokenSpan,
    argument_name,
    arguments,
    closing,
    outside_brackets,
    tokens_of,
)

log = logging.getLogger(__name__)

NameOf = Callable[[str], str | None]
_PARAMETERS = ("prompt", "value")
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


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
    calls = _find_aggregate_calls(tokens)
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
    calls: Mapping[int, _AggregateCall]
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

    def _write_call(self, call: _AggregateCall) -> None:
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


@dataclass(frozen=True)
class _AggregateCall:
    """A call with DISTINCT, ORDER BY, FILTER or OVER.

    Attributes:
        span: the whole of it, FILTER and OVER included.
        function: `llm_agg` or `llm_rank`.
        options: the named arguments, `name := value`.
        order: ORDER BY with what follows inside the parentheses, None where there is none.
        after: FILTER (..) and OVER, behind the parentheses.
    """

    span: TokenSpan
    function: str
    distinct: bool
    template: TokenSpan
    value: TokenSpan
    options: tuple[TokenSpan, ...]
    order: TokenSpan | None
    after: TokenSpan | None


def _find_aggregate_calls(tokens: Tokens) -> dict[int, _AggregateCall]:
    """The calls by the number of their first token; those inside others' arguments too.

    Tokens, not a tree: a call is found in whatever statement it stands, and where its parts begin and end is
    known. A call behind a dot (`schema.llm_agg(..)`, `template.llm_agg(..)`) is left to DuckDB. Its parser
    takes DISTINCT, ORDER BY and FILTER for every function, its binder for aggregates alone.

    Raises:
        UsageError: a call has not one value.
    """
    calls = {}
    for i, token in enumerate(tokens[:-1]):
        is_name = token.token_type in _NAMES and token.text.lower() in LISTS
        behind_dot = i > 0 and tokens[i - 1].token_type is TokenType.DOT
        if is_name and not behind_dot and tokens[i + 1].token_type is TokenType.L_PAREN:
            call = _read(tokens, i)
            if call is not None:
                calls[i] = call
    return calls


def _read(tokens: Tokens, name: int) -> _AggregateCall | None:
    """The call whose name this is, None when it has none of the four."""
    first, end = name + 2, closing(tokens, name + 1)
    last = _end_of_clauses(tokens, end)
    distinct = tokens[first].token_type is TokenType.DISTINCT
    first += distinct or tokens[first].token_type is TokenType.ALL
    order = _order(tokens, first, end)
    if not (distinct or order is not None or last > end):
        return None
    given = list(arguments(tokens, first, end if order is None else order.first))
    options = tuple(each for each in given if argument_name(tokens, each) not in (None, *_PARAMETERS))
    function = tokens[name].text.lower()
    template, value = _template_and_value(function, tokens, given)
    after = TokenSpan(end + 1, last) if last > end else None
    return _AggregateCall(TokenSpan(name, last), function, distinct, template, value, options, order, after)


def _template_and_value(function: str, tokens: Tokens, found: list[TokenSpan]) -> tuple[TokenSpan, TokenSpan]:
    given = [each for each in found if argument_name(tokens, each) is None]
    for parameter in _PARAMETERS:
        given += [TokenSpan(e.first + 2, e.last) for e in found if argument_name(tokens, e) == parameter]
    if len(given) != 2:
        raise UsageError(one_value_only(function, max(len(given) - 1, 0)))
    template, value = given
    return template, value


def _end_of_clauses(tokens: Tokens, end: int) -> int:
    """The last token of the FILTER and OVER that follow a call, the call's own when there is none."""
    for kind, needs_bracket in ((TokenType.FILTER, True), (TokenType.OVER, False)):
        if end + 2 >= len(tokens) or tokens[end + 1].token_type is not kind:
            continue
        has_bracket = tokens[end + 2].token_type is TokenType.L_PAREN
        if has_bracket or not needs_bracket:
            end = closing(tokens, end + 2) if has_bracket else end + 2
    return end


def _order(tokens: Tokens, first: int, end: int) -> TokenSpan | None:
    for i in outside_brackets(tokens, first, end):
        if tokens[i].token_type is TokenType.ORDER_BY:
            return TokenSpan(i, end - 1)
    return None
