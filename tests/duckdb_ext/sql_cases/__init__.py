"""Texts with llm calls and what comes of them: expected rows, prompts and relQueries, by subject."""

from __future__ import annotations

from sql_cases import aggregates, clauses, expressions, joins, large, sources, subqueries, values, writing
from sql_cases.case import ORACLE, SMALL_TABLES, Case, by_digit

LARGE = large.CASES + aggregates.CASES
SMALL = [
    case
    for subject in (expressions, clauses, joins, subqueries, sources, values, writing)
    for case in subject.CASES
]

__all__ = ["LARGE", "ORACLE", "SMALL", "SMALL_TABLES", "Case", "by_digit"]
