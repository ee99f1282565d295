"""SQL in the place of text2sql() calls: as subqueries in brackets."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from relserve_duckdb.questions.chosen import Chosen
from relserve_duckdb.questions.qualifying import hidden_in, qualified
from relserve_duckdb.text.question_calls import TEXT2SQL, QuestionCall
from relserve_duckdb.text.stand_in import Piece, StandIn, replaced


def embedded(
    con: duckdb.DuckDBPyConnection, text: StandIn, calls: Sequence[QuestionCall], queries: Sequence[Chosen]
) -> StandIn:
    """A text with queries, each a whole SELECT, in the place of its calls.

    Args:
        con: where the text will run.

    Raises:
        UsageError: a query would read another table there; see `qualified`.
    """
    around = replaced(text.text, [Piece("", call.start, call.end) for call in calls]).text
    is_hidden = hidden_in(around)
    parts = []
    for call, query in zip(calls, queries, strict=True):
        alias = "" if call.has_alias else f" AS {TEXT2SQL}"
        parts.append(Piece(f"({qualified(con, query, is_hidden)}){alias}", call.start, call.end))
    return text.then(replaced(text.text, parts))
