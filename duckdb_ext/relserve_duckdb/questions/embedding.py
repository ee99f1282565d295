"""SQL in the place of text2sql() calls: as subqueries in brackets."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from relserve_duckdb.questions.chosen import ChosenQuery
from relserve_duckdb.questions.qualifying import hidden_in, qualified
from relserve_duckdb.text.question_calls import TEXT2SQL, QuestionCall
from relserve_duckdb.text.stand_in import StandIn, TextPiece, replaced


def qualified_for(
    con: duckdb.DuckDBPyConnection,
    text: StandIn,
    calls: Sequence[QuestionCall],
    queries: Sequence[ChosenQuery],
) -> list[str]:
    """The SQL of queries, each a whole SELECT, as it may stand in the place of a text's calls.

    Args:
        con: where the text will run.

    Raises:
        UsageError: a query would read another table there; see `qualified`.
    """
    around = replaced(text.text, [TextPiece("", call.start, call.end) for call in calls]).text
    is_hidden = hidden_in(around)
    return [qualified(con, query, is_hidden) for query in queries]


def embedded(text: StandIn, calls: Sequence[QuestionCall], queries: Sequence[str]) -> StandIn:
    """A text with queries in the place of its calls."""
    parts = []
    for call, query in zip(calls, queries, strict=True):
        alias = "" if call.has_alias else f" AS {TEXT2SQL}"
        parts.append(TextPiece(f"({query}){alias}", call.start, call.end))
    return text.then(replaced(text.text, parts))
