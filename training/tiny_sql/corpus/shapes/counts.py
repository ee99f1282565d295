"""Questions for a number of rows, or of different values."""

from collections.abc import Sequence

from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.choice import filters_on
from training.tiny_sql.corpus.frames import counts as frames
from training.tiny_sql.corpus.shapes.written import Answer, Written, WrittenRows, said, some_rows

COUNT: Answer = ("count", "(", "*", ")")


def count_rows(draft: Draft) -> Written | None:
    """All rows."""
    rows = WrittenRows(draft.rng.choice(draft.schema.tables))
    return Written(said(draft, frames.COUNT, rows.slots(draft)), ("select", *COUNT, *rows.source))


def count_filtered(draft: Draft) -> Written | None:
    """Rows under one condition or two."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    count = 2 if rng.random() < 0.3 else 1
    rows = WrittenRows(
        table, filters_on(draft, table, count), "or" if count == 2 and rng.random() < 0.2 else "and"
    )
    if not rows.conditions:
        return None
    chance = rng.random()
    texts: Sequence[str] = frames.COUNT if chance < 0.5 else frames.COUNT_FILTER
    if chance > 0.9 and len(draft.schema.tables) == 1:
        texts = frames.COUNT_FILTER_WHO
    return Written(said(draft, texts, rows.slots(draft)), ("select", *COUNT, *rows.source))


def count_distinct(draft: Draft) -> Written | None:
    """The different values of a column."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    if not table.plain:
        return None
    column = rng.choice(table.plain)
    alone = rng.random() < 0.35 and draft.needs_no_table(column)
    rows = WrittenRows(table) if alone else some_rows(draft, table, 0.3, column)
    slots = rows.slots(draft)
    slots["value"] = lambda: draft.column(column)
    slots["values"] = lambda: draft.column(column, many=True)
    text = said(draft, frames.COUNT_DISTINCT_ALONE if alone else frames.COUNT_DISTINCT, slots)
    return Written(text, ("select", "count", "(", "distinct", column, ")", *rows.source))
