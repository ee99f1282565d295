"""`FROM llm_similar(table, value, wanted)`: the rows of a table that are most similar to a text, as a table.

A table macro in plain SQL over llm_embed. Functions have their catalog and schema before them, as in all
macros here.
"""

from __future__ import annotations

SIMILAR = "llm_similar"
MOST_ROWS = 10  # where a call says no k


def definition() -> str:
    """The parameters and the body of the macro."""
    value, wanted = (f"temp.main.llm_embed({name}, model := model)" for name in ("value", "wanted"))
    similarity = f"system.main.list_cosine_similarity({value}, {wanted})"
    parameters = f"(data, value, wanted, k := {MOST_ROWS}, model := NULL)"
    return f"""{parameters} AS TABLE SELECT *, {similarity} AS similarity FROM system.main.query_table(data)
        ORDER BY similarity DESC NULLS LAST LIMIT k"""
