"""Conditions on dates and on columns of years."""

import random
from functools import cache

from relserve.linking.schema import ColumnKind
from relserve.linking.words import folded
from training.tiny_sql.corpus.conditions import date as texts
from training.tiny_sql.corpus.conditions.forms import Forms
from training.tiny_sql.corpus.draft import Draft, Token, ValueMark
from training.tiny_sql.corpus.filters.condition import Condition, slots_of
from training.tiny_sql.corpus.lexicon.verbs import DEEDS, EVENTS
from training.tiny_sql.corpus.spoken import SpokenColumn

OPERATORS = (("in", ">", "<", ">=", "<=", "=", "between"), (0.34, 0.2, 0.2, 0.08, 0.05, 0.04, 0.09))
EVENT_SHARE = 0.6
ONLY_SHARE = 0.3
YEAR_SHARE = 0.5  # of comparisons of a date
PERIOD_SHARE = 0.4  # of `in`: a month, a quarter, a decade
MONTHS = (
    "January February March April May June July August September October November December "
    "Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec"
).split()


def date_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """A date compared with a date or a period, or its year with a year; a column of years with years."""
    rng = draft.rng
    operator = rng.choices(*OPERATORS)[0]
    if column.is_year and operator == "=":
        operator = "in"
    if not column.is_year and rng.random() < PERIOD_SHARE and operator in ("in", ">", "<"):
        return _condition(draft, column, operator, (column,), [random_period(rng)], is_period=True)
    by_year = column.is_year or operator == "in" or (operator != "=" and rng.random() < YEAR_SHARE)
    values = [str(rng.randint(1980, 2025)) if by_year else random_date(rng) for _ in range(2)]
    subject: tuple[Token, ...] = ("year", "(", column, ")") if by_year and not column.is_year else (column,)
    chosen = sorted(values) if operator == "between" else values[:1]
    return _condition(
        draft, column, operator, subject, chosen if by_year else [spoken_day(rng, day) for day in chosen]
    )


def _condition(
    draft: Draft,
    column: SpokenColumn,
    operator: str,
    subject: tuple[Token, ...],
    spoken: list[str],
    is_period: bool = False,
) -> Condition:
    said: list[tuple[str, ValueMark]] = [
        draft.value(text, " ".join(folded(text.removeprefix("the ")))) for text in spoken
    ]
    v, left = said[0]
    w = ""
    answer: tuple[Token, ...] = (*subject, "=" if operator == "in" else operator, left)
    if len(said) == 2:
        w, right = said[1]
        answer = (*subject, "between", left, "and", right)
    slots = slots_of(draft, column, v=v, w=w)
    forms, participle = _forms(draft.rng, column, operator)
    forms = without_year(forms) if is_period else forms
    if participle is not None:
        slots["p"] = lambda: participle
    return Condition(draft, column, answer, forms, slots)


@cache
def without_year(forms: Forms) -> Forms:
    """The forms that do not call the value a year."""
    return forms.without("year")


def random_date(rng: random.Random) -> str:
    """A day as ISO 8601 writes it."""
    return f"{rng.randint(1995, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def spoken_day(rng: random.Random, day: str) -> str:
    """A day as it is or in words."""
    if rng.random() < 0.7:
        return day
    year, month, number = day.split("-")
    name = MONTHS[int(month) - 1]
    return rng.choice(
        (f"{name} {int(number)}, {year}", f"{int(number)} {name} {year}", f"{name} {int(number)} {year}")
    )


def random_period(rng: random.Random) -> str:
    """A month, a quarter or a decade."""
    year = rng.randint(1990, 2025)
    chance = rng.random()
    if chance < 0.6:
        return f"{rng.choice(MONTHS)} {year}"
    if chance < 0.75:
        return f"Q{rng.randint(1, 4)} {year}"
    return f"the {rng.randint(196, 202)}0s" if chance < 0.9 else f"{year}-{rng.randint(1, 12):02d}"


def _forms(rng: random.Random, column: SpokenColumn, operator: str) -> tuple[Forms, str | None]:
    events = column.meaning(EVENTS)
    if events and rng.random() < EVENT_SHARE:
        chosen = rng.choice(events)
        others = [other for other in column.table.columns if other is not column]
        if not any(chosen in (other.meaning(EVENTS) or ()) for other in others):
            return texts.EVENT[operator], chosen
    deeds = column.meaning(DEEDS)
    if deeds and rng.random() < EVENT_SHARE:
        chosen = rng.choice(deeds)
        others = [other for other in column.table.columns if other is not column]
        if not any(chosen in (other.meaning(DEEDS) or ()) for other in others):
            return texts.DEED[operator], chosen
    if operator in texts.ONLY and rng.random() < ONLY_SHARE and _is_only_date(column):
        return texts.ONLY[operator], None
    if operator == "in":
        return (texts.IN_YEAR if not column.is_year else texts.COMPARED["="]), None
    return (texts.BETWEEN if operator == "between" else texts.COMPARED[operator]), None


def _is_only_date(column: SpokenColumn) -> bool:
    return sum(each.kind is ColumnKind.DATE or "year" in each.words for each in column.table.columns) == 1
