"""SQL in the place of text2sql() calls: as subqueries in brackets."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.errors import UsageError
from relserve_duckdb.text.from_items import from_items
from relserve_duckdb.text.question_calls import TEXT2SQL, QuestionCall, names_before_brackets
from relserve_duckdb.text.stand_in import Piece, StandIn, replaced
from relserve_duckdb.text.tokens import tokens_of


def embedded(text: StandIn, calls: Sequence[QuestionCall], queries: Sequence[str]) -> StandIn:
    """A text with queries, each a whole SELECT, in the place of its calls.

    Raises:
        UsageError: a query reads a table whose name WITH gives to another one in the user's statement.
    """
    _check_names(text, queries)
    parts = [
        Piece(_subquery(query) + ("" if call.has_alias else f" AS {TEXT2SQL}"), call.start, call.end)
        for call, query in zip(calls, queries, strict=True)
    ]
    return text.then(replaced(text.text, parts))


def _subquery(query: str) -> str:
    bare = query.strip().rstrip(";").rstrip()
    return f"({bare}\n)" if "--" in bare.rpartition("\n")[2] else f"({bare})"


def _check_names(text: StandIn, queries: Sequence[str]) -> None:
    """A query in brackets would read what WITH of the statement around it calls as one of its tables."""
    taken = names_before_brackets(text.text)
    for query in queries if taken else ():
        tokens = tokens_of(query)
        read = {tokens[i].text.lower() for i in from_items(tokens)} - names_before_brackets(query)
        if both := sorted(taken & read):
            raise UsageError(
                f"WITH {both[0]} AS (..) hides what the SQL of text2sql() calls {both[0]}; give that part of "
                f"the statement another name. The SQL is: {query}"
            )
