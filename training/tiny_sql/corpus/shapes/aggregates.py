"""Questions for one number over rows: an average, a sum, a maximum, a minimum, or several of them."""

from typing import NamedTuple

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus import phrases
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.choice import filters_on
from training.tiny_sql.corpus.frames import aggregates as frames
from training.tiny_sql.corpus.lexicon.verbs import EVENTS
from training.tiny_sql.corpus.shapes.lookups import of_several, question_for
from training.tiny_sql.corpus.shapes.written import Answer, Slots, Written, WrittenRows, said
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenTable

OWN_FRAMES = {"avg": frames.AVERAGE, "sum": frames.TOTAL, "max": frames.HIGHEST, "min": frames.LOWEST}


class Aggregate(NamedTuple):
    """A function of a column."""

    function: str
    column: SpokenColumn

    @property
    def answer(self) -> Answer:
        return (self.function, "(", self.column, ")")

    def said(self, draft: Draft) -> str:
        """`average price`."""
        words = frames.DATE_WORDS if self.column.kind is ColumnKind.DATE else frames.WORDS
        return said(draft, words[self.function], self.slots(draft))

    def slots(self, draft: Draft) -> Slots:
        """Its column."""
        return {"c": lambda: draft.column(self.column), "cs": lambda: draft.column(self.column, many=True)}


def some_aggregate(
    draft: Draft, table: SpokenTable, avoid: SpokenColumn | None = None, dates: bool = False
) -> Aggregate | None:
    """A fitting function of one of the table's numbers, or dates."""
    columns = [column for column in table.numbers + (table.dates if dates else []) if column is not avoid]
    if not columns:
        return None
    column = draft.rng.choice(columns)
    return Aggregate(draft.rng.choice(functions_of(column)), column)


def functions_of(column: SpokenColumn) -> tuple[str, ...]:
    """The functions that say something of such a column."""
    if column.kind is ColumnKind.DATE or column.is_year:
        return ("max", "min")
    return ("avg", "avg", "sum", "max", "min") if column.is_summed else ("avg", "avg", "max", "min")


def aggregate_rows(draft: Draft) -> Written | None:
    """Over all rows."""
    return _aggregated(draft, WrittenRows(draft.rng.choice(draft.schema.tables)))


def aggregate_filtered(draft: Draft) -> Written | None:
    """Over rows under one condition or two."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    count = 2 if rng.random() < 0.2 else 1
    rows = WrittenRows(
        table, filters_on(draft, table, count), "or" if count == 2 and rng.random() < 0.15 else "and"
    )
    return _aggregated(draft, rows) if rows.conditions else None


def several_aggregates(draft: Draft) -> Written | None:
    """Two or three at once: of one column, or of two."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    rows = WrittenRows(table, filters_on(draft, table, 1) if rng.random() < 0.3 else ())
    first = some_aggregate(draft, table)
    if first is None:
        return None
    if rng.random() < 0.35:
        second = some_aggregate(draft, table, first.column)
        chosen = [first] if second is None else [first, second]
    else:
        functions = list(dict.fromkeys(functions_of(first.column)))
        rng.shuffle(functions)
        chosen = [Aggregate(function, first.column) for function in functions[: rng.choice((2, 2, 3))]]
    if len(chosen) < 2:
        return None
    slots = rows.slots(draft) | {"n": lambda: _together(draft, chosen)}
    answer = _listed(chosen)
    if not rows.conditions and rng.random() < 0.3 and draft.needs_no_table(*(each.column for each in chosen)):
        return Written(said(draft, frames.ALONE, slots), ("select", *answer, *rows.source))
    return Written(said(draft, _frames(rows), slots), ("select", *answer, *rows.source))


def _together(draft: Draft, chosen: list[Aggregate]) -> str:
    """`minimum and maximum price`, or each with its column."""
    rng = draft.rng
    one_column = all(each.column is chosen[0].column for each in chosen)
    if one_column and rng.random() < 0.7:
        words = [rng.choice(frames.SHORT[each.function]) for each in chosen]
        return f"{_and(draft, words)} {draft.column(chosen[0].column)}"
    return _and(draft, [each.said(draft) for each in chosen])


def _and(draft: Draft, words: list[str]) -> str:
    joint = draft.rng.choice((" and ", " and ", " and ", ", ", " and the ", " as well as ", " & ", " plus "))
    return ", ".join(words[:-1]) + joint + words[-1]


def _listed(chosen: list[Aggregate]) -> Answer:
    out: Answer = ()
    for each in chosen:
        out = (*out, ",", *each.answer) if out else each.answer
    return out


def _frames(rows: WrittenRows) -> tuple[str, ...]:
    return frames.AGGREGATE if rows.conditions else PLAIN


PLAIN = tuple(frame for frame in frames.AGGREGATE if "terse" not in phrases.slot_names(frame))


def _aggregated(draft: Draft, rows: WrittenRows) -> Written | None:
    rng = draft.rng
    aggregate = some_aggregate(draft, rows.table, dates=True)
    if aggregate is None:
        return None
    slots = rows.slots(draft) | aggregate.slots(draft) | {"n": lambda: aggregate.said(draft)}
    answer: Answer = ("select", *aggregate.answer, *rows.source)
    column = aggregate.column
    chance = rng.random()
    if chance < 0.25:
        asked = _unnamed(draft, rows, aggregate, slots)
        if asked is not None:
            return Written(asked, answer)
    if not rows.conditions and chance > 0.8:
        if rng.random() < 0.5 or not draft.needs_no_table(column):
            slots["c"] = lambda: f"{draft.row(rows.table)} {draft.column(column)}"
            slots["cs"] = lambda: f"{draft.row(rows.table)} {draft.column(column, many=True)}"
            words = frames.DATE_WORDS if column.kind is ColumnKind.DATE else frames.WORDS
            slots["n"] = lambda: said(draft, words[aggregate.function], slots)
        return Written(said(draft, frames.ALONE, slots), answer)
    texts = _frames(rows)
    if rows.conditions and rng.random() < 0.2 and draft.needs_no_table(column):
        return Written(said(draft, frames.OF_THOSE, slots), answer)
    if rows.conditions and rng.random() < 0.15:
        return Written(said(draft, frames.FRONTED, slots), answer)
    if column.kind is not ColumnKind.DATE and rng.random() < 0.25:
        is_counted = aggregate.function == "sum" and column.kind is ColumnKind.INT
        texts = frames.TOTAL_COUNT if is_counted and rng.random() < 0.5 else OWN_FRAMES[aggregate.function]
    return Written(said(draft, texts, slots), answer)


def _unnamed(draft: Draft, rows: WrittenRows, aggregate: Aggregate, slots: Slots) -> str | None:
    """Without the column's name: how old are students on average, when was the last one hired."""
    function, column = aggregate
    if column.kind is ColumnKind.DATE:
        events = column.meaning(EVENTS)
        others = [other for other in rows.table.columns if other is not column]
        if not events or any(set(events) & set(other.meaning(EVENTS) or ()) for other in others):
            return None
        slots["p"] = lambda: draft.rng.choice(events)
        return said(draft, frames.WHEN_LAST if function == "max" else frames.WHEN_FIRST, slots)
    if function not in ("avg", "sum"):
        return None
    question = question_for(draft, column)
    if question is None or not question.startswith("how"):
        return None
    slots["x"] = lambda: draft.rng.choice(("", "the ", "all ")) + slots["rows"]()
    slots["q"] = lambda: said(draft, (of_several(question),), slots)
    return said(draft, frames.HOW_ON_AVERAGE if function == "avg" else frames.HOW_IN_TOTAL, slots)
