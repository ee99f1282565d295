"""Questions for columns: of all rows or of some, in an order, or each value once."""

from collections.abc import Sequence

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.numbers import has_no_rival
from training.tiny_sql.corpus.frames import columns as frames
from training.tiny_sql.corpus.lexicon.meanings import ADJECTIVES
from training.tiny_sql.corpus.shapes.lookups import of_several, question_for
from training.tiny_sql.corpus.shapes.written import (
    Answer,
    Slots,
    Written,
    WrittenRows,
    listed,
    said,
    some_rows,
)
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenTable


def list_columns(draft: Draft) -> Written | None:
    """One to three columns."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    columns = rng.sample(table.columns, min(len(table.columns), rng.choice((1, 1, 2, 2, 3))))
    rows = some_rows(draft, table, 0.55)
    slots = rows.slots(draft)
    slots["cols"] = lambda: draft.listed(columns)
    slots["colsmany"] = lambda: draft.listed(columns, many=True)
    asked = question_for(draft, columns[0]) if len(columns) == 1 and rng.random() < 0.35 else None
    if asked is not None:
        slots["x"] = lambda: f"the {slots['rows']()}" if rng.random() < 0.8 else slots["rows"]()
        return Written(said(draft, (of_several(asked) + "?",), slots), ("select", columns[0], *rows.source))
    alone = (
        not rows.conditions
        and rng.random() < 0.4
        and draft.needs_no_table(*columns)
        and not _means_values(columns)
    )
    texts: Sequence[str] = frames.ALONE if alone else frames.COLUMNS
    if rows.conditions and rng.random() < 0.15 and draft.needs_no_table(*columns):
        texts = frames.OF_THOSE
    text = said(draft, texts, slots)
    order: Answer = ()
    if rng.random() < 0.2:
        ordering, order = order_by(draft, table)
        text = text.rstrip("?") + ordering
    return Written(text, ("select", *listed(columns), *rows.source, *order))


def _means_values(columns: Sequence[SpokenColumn]) -> bool:
    """Whether the bare plural asks for the different values: of a text column that names no row."""
    column = columns[0]
    return len(columns) == 1 and column.kind is ColumnKind.TEXT and column is not column.table.name_column


def sortable(table: SpokenTable) -> list[SpokenColumn]:
    """The columns by which people order rows."""
    return [column for column in table.plain if column.kind is not ColumnKind.BOOL] or table.columns


def order_by(draft: Draft, table: SpokenTable) -> tuple[str, Answer]:
    """An order, in words after the question and in the answer."""
    rng = draft.rng
    column = rng.choice(sortable(table))
    descending = rng.random() < 0.5
    texts: Sequence[str] = frames.DESCENDING if descending else frames.ASCENDING
    if column.kind is ColumnKind.DATE and rng.random() < 0.6:
        texts = frames.LATEST if descending else frames.EARLIEST
    elif column.kind is ColumnKind.TEXT and rng.random() < 0.6:
        texts = frames.REVERSE_ALPHABETIC if descending else frames.ALPHABETIC
    slots: Slots = {"col": lambda: draft.column(column)}
    adjectives = column.meaning(ADJECTIVES)
    if adjectives is not None and rng.random() < 0.4:
        first, last = (adjectives.most, adjectives.least)[:: 1 if descending else -1]
        chosen = rng.choice(first)
        if has_no_rival(column, chosen):
            texts = frames.BY_ADJECTIVE
            slots |= {"first": lambda: chosen, "last": lambda: rng.choice(last)}
    text = said(draft, texts, slots)
    return text, ("order by", column, *(("desc",) if descending else ()))


def distinct_values(draft: Draft) -> Written | None:
    """The different values of a column."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    if not table.groups:
        return None
    column = rng.choice(table.groups)
    alone = rng.random() < 0.5 and draft.needs_no_table(column)
    if alone and (column.kind is not ColumnKind.TEXT or column is table.name_column):
        return None
    rows = WrittenRows(table) if alone else some_rows(draft, table, 0.2, column)
    slots = rows.slots(draft)
    slots["cols"] = lambda: draft.column(column)
    slots["colsmany"] = lambda: draft.column(column, many=True)
    text = said(draft, frames.DISTINCT_ALONE if alone else frames.DISTINCT, slots)
    return Written(text, ("select distinct", column, *rows.source))
