"""What a SQL case is, the tables that the small ones read, and how their prompts are answered."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from relserve.call.relquery import Submission

Row = tuple[Any, ...]


class Case(NamedTuple):
    """One text and what comes of it.

    Attributes:
        num_prompts: distinct prompts asked with prefetch; -1: not fixed.
        num_relqueries: relQueries with prefetch; -1: not fixed.
        shows: a query that shows what a writing statement did; its rows follow the statement's own.
        rows: expected, in any order; None: those of the oracle, a DuckDB whose llm functions are SQL macros.
        ordered: the rows come in this order.
        like: what the oracle runs in place of the text, where its macros cannot.
    """

    sql: str
    num_prompts: int
    num_relqueries: int = 1
    shows: str = ""
    rows: list[Row] | None = None
    parameters: Any = None
    ordered: bool = False
    like: str = ""


def one(*values: Any) -> list[Row]:
    """Rows of one column."""
    return [(value,) for value in values]


def by_digit(prompt: str, submission: Submission) -> str:
    """Free text is the prompt itself; of several choices, the prompt's last digit picks one, counted from 0.

    So an even last digit passes a filter, and a score is its lowest value plus the digit. No digit is 0.
    """
    grammar = submission.sampling.grammar
    if grammar is None:
        return prompt
    digits = re.findall("[0-9]", prompt.partition("\n")[2])  # the first line tells the choices
    digit = int(digits[-1]) if digits else 0
    return grammar.choices[digit % len(grammar.choices)] if grammar.choices else str(digit)


# answers are NULL, filter no / yes: t 1 no, 2 yes, 3 no, 4 NULL, 5 yes; w no, yes, yes, no
SMALL_TABLES = """
SET TimeZone = 'UTC';
CREATE OR REPLACE TABLE t AS FROM (VALUES
    (1, 'a', 'one 1', 10), (2, 'a', 'two 2', 20), (3, 'b', 'three 3', 30), (4, 'b', NULL, 40),
    (5, NULL, 'two 2', 50)) v(id, g, name, x);
CREATE OR REPLACE TABLE w AS FROM (VALUES (1, 'low 1'), (2, 'mid 2'), (2, 'mid 4'), (9, 'far 9'))
    v(id, label);
CREATE OR REPLACE TABLE keyed (k INTEGER PRIMARY KEY, v VARCHAR);
INSERT INTO keyed VALUES (1, 'old');
"""

# by_digit, once more and in SQL alone: what a case without literal rows is held against
_COMMON = "max_tokens temperature top_p seed stop system model on_error"


def _macro(name: str, own: str, answer: str) -> str:
    options = ", ".join(f"{option} := NULL" for option in _COMMON.split())
    said = "said(t, a, b, c)"
    return (
        f"CREATE MACRO {name}(t, a := NULL, b := NULL, c := NULL, {options}{own}) AS {answer.format(said)};"
    )


ORACLE = "\n".join(
    [
        "CREATE MACRO braceless(t) AS replace(replace(t, '{{', ''), '}}', '');",
        "CREATE MACRO said(t, a, b, c) AS CASE len(string_split(braceless(t), '{}')) - 1 "
        "WHEN 0 THEN format(t) WHEN 1 THEN format(t, a::VARCHAR) "
        "WHEN 2 THEN format(t, a::VARCHAR, b::VARCHAR) "
        "WHEN 3 THEN format(t, a::VARCHAR, b::VARCHAR, c::VARCHAR) END;",
        "CREATE MACRO digit(s) AS CASE WHEN s IS NOT NULL THEN "
        "coalesce(TRY_CAST(regexp_extract(s, '([0-9])[^0-9]*$', 1) AS INTEGER), 0) END;",
        _macro(
            "llm",
            ", choices := NULL",
            "coalesce((choices::VARCHAR[])[digit({0}) % len(choices::VARCHAR[]) + 1], trim({0}))",
        ),
        _macro("llm_filter", "", "(digit({}) % 2 = 0)"),
        _macro("llm_classify", ", choices := NULL", "choices[digit({}) % len(choices) + 1]"),
        "CREATE MACRO texts(l) AS list_filter(l::VARCHAR[], lambda v: v IS NOT NULL);",
        "CREATE MACRO agg(t, l) AS CASE WHEN len(texts(l)) > 0 THEN replace(t, '{}', list_aggregate("
        "list_transform(texts(l), lambda v, i: chr(10) || i || '. ' || v), 'string_agg', '')) END;",
        _macro("llm_score", ", lo := 0, hi := 10", "(lo + digit({}) % (hi - lo + 1))::DOUBLE"),
    ]
)
