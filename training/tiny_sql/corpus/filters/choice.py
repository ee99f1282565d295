"""Which condition a column gets."""

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus.conditions import bool as booleans
from training.tiny_sql.corpus.conditions import null
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.condition import Condition, slots_of
from training.tiny_sql.corpus.filters.dates import date_filter
from training.tiny_sql.corpus.filters.numbers import number_filter
from training.tiny_sql.corpus.filters.texts import text_filter
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenTable

NULL_SHARE = 0.05
FALSE_SHARE = 0.35


def filter_on(draft: Draft, column: SpokenColumn) -> Condition:
    """A condition on the column."""
    if column.kind is ColumnKind.BOOL:
        return bool_filter(draft, column)
    if draft.rng.random() < NULL_SHARE:
        return null_filter(draft, column)
    if column.kind is ColumnKind.TEXT:
        return text_filter(draft, column)
    if column.kind is ColumnKind.DATE or (column.is_year and draft.rng.random() < 0.8):
        return date_filter(draft, column)
    return number_filter(draft, column)


def bool_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """True or false."""
    is_false = draft.rng.random() < FALSE_SHARE
    slots = slots_of(draft, column)
    slots["p"] = lambda: draft.mention(" ".join(word for word in column.words if word != "is"))
    answer = (column, "=", "false" if is_false else "true")
    return Condition(draft, column, answer, booleans.FALSE if is_false else booleans.TRUE, slots)


def null_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """Missing, or known."""
    is_known = draft.rng.random() < 0.35
    answer = (column, "is", "not", "null") if is_known else (column, "is", "null")
    return Condition(
        draft, column, answer, null.PRESENT if is_known else null.MISSING, slots_of(draft, column)
    )


def filters_on(
    draft: Draft, table: SpokenTable, count: int, avoid: SpokenColumn | None = None
) -> list[Condition]:
    """Conditions on `count` different columns; none at all where the table has fewer.

    Of several none is itself an alternative: the answer language has no brackets.
    """
    columns = [column for column in table.plain if column is not avoid]
    if len(columns) < count:
        return []
    return [simple_filter(draft, column, count == 1) for column in draft.rng.sample(columns, count)]


def simple_filter(draft: Draft, column: SpokenColumn, with_or: bool = False) -> Condition:
    """A condition without OR, unless it is allowed."""
    while True:
        condition = filter_on(draft, column)
        if with_or or not {"or", "and"} & _words(condition):
            return condition


def _words(condition: Condition) -> set[str]:
    """What joins comparisons in its answer; the AND of a BETWEEN does not."""
    answer = condition.answer
    if "between" in answer:
        return set()
    return {token for token in answer if isinstance(token, str)}
