"""What is wrong with a candidate, in words for the model, and what of the database may help to mend it."""

from __future__ import annotations

import re
from difflib import get_close_matches

import sqlglot
from sqlglot import exp

from relserve.linking.schema import Schema
from relserve.text2sql.cases.case import ProblemKind, SqlCandidate
from relserve.text2sql.cases.database import Database
from relserve.text2sql.prompts.quoting import as_data
from relserve.text2sql.prompts.texts import NOTHING

MOST_MESSAGE, MOST_LITERALS, SIMILAR, NEAREST = 600, 6, 5, 5


def problem_text(candidate: SqlCandidate, schema: Schema, database: Database) -> str:
    """What is wrong with a candidate, and what may help to mend it."""
    problem = candidate.problem
    assert problem is not None
    if problem.kind is ProblemKind.EMPTY:
        return (
            "It runs, but gives no row, or nothing but NULL and 0. Is a value in its filters spelled "
            "otherwise in the database, or does it stand in another column? If the query is right as it is, "
            "repeat it unchanged. Values of the database like those of the query:\n"
            f"<data>\n{_similar_values(candidate.sql, database)}\n</data>"
        )
    words = "DuckDB cannot bind it" if problem.kind is ProblemKind.REFUSED else "It failed when it ran"
    return (
        f"{words}. What was said, and the names of the schema that are like those in it:\n<data>\n"
        f"{as_data(problem.message, MOST_MESSAGE)}\nnames: {_near_names(problem.message, schema)}\n</data>"
    )


def _similar_values(sql: str, database: Database) -> str:
    try:
        literals = [
            each.this for each in sqlglot.parse_one(sql, "duckdb").find_all(exp.Literal) if each.is_string
        ]
    except (sqlglot.errors.SqlglotError, RecursionError):
        literals = re.findall(r"'((?:[^']|'')+)'", sql)
    lines = [
        f"{as_data(literal)}: {as_data(hit.table)}.{as_data(hit.column)} = {as_data(hit.value)}"
        for literal in list(dict.fromkeys(literals))[:MOST_LITERALS]
        for hit, _ in database.values().similar(literal, SIMILAR)
    ]
    return "\n".join(lines) or NOTHING


def _near_names(message: str, schema: Schema) -> str:
    """Names of the schema that are like one in quotes, or after "name", in an error message."""
    named = re.findall(r'"([^"\n]+)"|with name (\S+)', message)
    full = {
        f"{table.name}.{column.name}".lower(): f"{table.name}.{column.name}"
        for table, column in schema.columns
    }
    full |= {table.name.lower(): table.name for table in schema.tables}
    by_last = [*full, *(column.name.lower() for _, column in schema.columns)]
    found: dict[str, None] = {}
    for quoted, plain in named:
        for near in get_close_matches((quoted or plain).lower(), by_last, NEAREST, 0.5):
            at_home = [text for low, text in full.items() if low == near or low.endswith(f".{near}")]
            found |= dict.fromkeys(at_home)
    return ", ".join(as_data(name) for name in list(found)[: 2 * NEAREST]) or NOTHING
