"""Questions for whole rows: all of them, or those under one condition or two."""

from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.choice import filters_on, null_filter
from training.tiny_sql.corpus.frames import rows as frames
from training.tiny_sql.corpus.shapes.written import Written, WrittenRows, name_or_all, said


def list_rows(draft: Draft) -> Written | None:
    """All rows."""
    table = draft.rng.choice(draft.schema.tables)
    rows = WrittenRows(table)
    if draft.rng.random() < 0.25:
        return Written(
            said(draft, frames.LIST_WHICH, rows.slots(draft)), ("select", name_or_all(table), *rows.source)
        )
    return Written(said(draft, frames.LIST, rows.slots(draft)), ("select", "*", *rows.source))


def filter_rows(draft: Draft) -> Written | None:
    """Rows under one condition."""
    table = draft.rng.choice(draft.schema.tables)
    return _filtered(draft, WrittenRows(table, filters_on(draft, table, 1)))


def filter_rows_twice(draft: Draft) -> Written | None:
    """Rows under two conditions, at times three."""
    table = draft.rng.choice(draft.schema.tables)
    chance = draft.rng.random()
    count, joint = (2, "or") if chance < 0.2 else (3, "and") if chance > 0.93 else (2, "and")
    return _filtered(draft, WrittenRows(table, filters_on(draft, table, count), joint))


def null_rows(draft: Draft) -> Written | None:
    """Rows in which a value is missing, or known."""
    table = draft.rng.choice(draft.schema.tables)
    if not table.plain:
        return None
    return _filtered(draft, WrittenRows(table, [null_filter(draft, draft.rng.choice(table.plain))]))


def _filtered(draft: Draft, rows: WrittenRows) -> Written | None:
    if not rows.conditions:
        return None
    chance = draft.rng.random()
    slots = rows.slots(draft)
    if chance < 0.5:
        return Written(said(draft, frames.FILTER, slots), ("select", "*", *rows.source))
    who = rows.table.person and chance < 0.65
    text = said(draft, frames.FILTER_WHO if who else frames.FILTER_WHICH, slots)
    return Written(text, ("select", name_or_all(rows.table), *rows.source))
