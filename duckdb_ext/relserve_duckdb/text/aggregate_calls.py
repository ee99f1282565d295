"""llm_agg and llm_rank calls with DISTINCT, ORDER BY, FILTER or OVER in a text, found by its tokens.

DuckDB's parser takes them for every function, its binder for aggregates alone. Tokens, not a tree: a call is
found in whatever statement it stands, and where each of its parts begins and ends is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType

from relserve.errors import UsageError
from relserve_duckdb.text.call_limits import LISTS, one_value_only
from relserve_duckdb.text.tokens import Tokens, TokenSpan, argument_name, arguments, closing, outside_brackets

_PARAMETERS = ("prompt", "value")
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True)
class AggregateCall:
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


def find_aggregate_calls(tokens: Tokens) -> dict[int, AggregateCall]:
    """The calls by the number of their first token; those inside others' arguments too.

    A call behind a dot (`schema.llm_agg(..)`, `template.llm_agg(..)`) is left to DuckDB.

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


def _read(tokens: Tokens, name: int) -> AggregateCall | None:
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
    return AggregateCall(TokenSpan(name, last), function, distinct, template, value, options, order, after)


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
