"""Conditions on dates and on columns of years."""

import random

from relserve.linking.schema import Kind
from relserve.tiny_sql.corpus.conditions import date as texts
from relserve.tiny_sql.corpus.conditions.forms import Forms
from relserve.tiny_sql.corpus.draft import Draft, Token, ValueMark
from relserve.tiny_sql.corpus.filters.condition import Condition, slots_of
from relserve.tiny_sql.corpus.lexicon.verbs import EVENTS
from relserve.tiny_sql.corpus.spoken import SpokenColumn

OPERATORS = (("in", ">", "<", ">=", "<=", "=", "between"), (0.32, 0.2, 0.2, 0.08, 0.05, 0.05, 0.1))
EVENT_SHARE = 0.6
ONLY_SHARE = 0.3


def date_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """A date compared with a date, or its year with a year; a column of years compared with years."""
    rng = draft.rng
    operator = rng.choices(*OPERATORS)[0]
    by_year = column.is_year or operator == "in" or (operator != "=" and rng.random() < 0.5)
    if column.is_year and operator == "=":
        operator = "in"
    subject: tuple[Token, ...] = ("year", "(", column, ")") if by_year and not column.is_year else (column,)
    texts_and_marks = _values(draft, by_year, operator == "between")
    v, left = texts_and_marks[0]
    if operator == "between":
        w, right = texts_and_marks[1]
        answer: tuple[Token, ...] = (*subject, "between", left, "and", right)
    else:
        answer, w = (*subject, "=" if operator == "in" else operator, left), ""
    slots = slots_of(draft, column, v=v, w=w)
    forms, participle = _forms(rng, column, operator)
    if participle is not None:
        slots["p"] = lambda: participle
    return Condition(draft, column, answer, forms, slots)


def _values(draft: Draft, by_year: bool, two: bool) -> list[tuple[str, ValueMark]]:
    rng = draft.rng
    values = sorted(
        str(rng.randint(1980, 2025)) if by_year else random_date(rng) for _ in range(2 if two else 1)
    )
    return [draft.value(value, value) for value in values]


def random_date(rng: random.Random) -> str:
    """A day as ISO 8601 writes it."""
    return f"{rng.randint(1995, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def _forms(rng: random.Random, column: SpokenColumn, operator: str) -> tuple[Forms, str | None]:
    events = column.meaning(EVENTS)
    if events and rng.random() < EVENT_SHARE:
        chosen = rng.choice(events)
        if not any(chosen in (other.meaning(EVENTS) or ()) for other in column.table.columns if other is not column):
            return texts.EVENT[operator], chosen
    if operator in texts.ONLY and rng.random() < ONLY_SHARE and _is_only_date(column):
        return texts.ONLY[operator], None
    if operator == "in":
        return (texts.IN_YEAR if not column.is_year else texts.COMPARED["="]), None
    return (texts.BETWEEN if operator == "between" else texts.COMPARED[operator]), None


def _is_only_date(column: SpokenColumn) -> bool:
    return sum(each.kind is Kind.DATE or "year" in each.words for each in column.table.columns) == 1
