"""Questions for the first rows of an order (the oldest student, the 5 cheapest films), and for orders."""

from collections.abc import Callable, Sequence

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.numbers import has_no_rival, is_only
from training.tiny_sql.corpus.frames import joins as join_frames
from training.tiny_sql.corpus.frames import tops as frames
from training.tiny_sql.corpus.lexicon.meanings import ADJECTIVES
from training.tiny_sql.corpus.lexicon.verbs import EVENTS, VERBS
from training.tiny_sql.corpus.phrases import third_person
from training.tiny_sql.corpus.shapes.columns import order_by, sortable
from training.tiny_sql.corpus.shapes.groups import FEWEST, MOST, add_limit
from training.tiny_sql.corpus.shapes.joins import some_pair
from training.tiny_sql.corpus.shapes.lookups import question_for
from training.tiny_sql.corpus.shapes.written import (
    Answer,
    Slots,
    Written,
    WrittenRows,
    listed,
    name_or_all,
    said,
    some_rows,
)
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenTable
from training.tiny_sql.corpus.subjects import where

SUPERLATIVE_VERBS = {
    name: VERBS[name][:1] for name in ("price", "cost", "fee", "weight", "salary", "wage", "income")
}
DATE_SUPERLATIVES = {
    True: ("latest", "newest", "most recent", "last"),
    False: ("oldest", "earliest", "first", "very first"),
}


ONE = (frames.ROW, frames.ROW_WHICH, frames.ROW_WHO, frames.COLUMNS_OF_ROW)
SEVERAL = (frames.ROWS, frames.ROWS_WHICH, frames.ROWS_WHO, frames.COLUMNS_OF_ROWS)


def superlative(draft: Draft) -> Written | None:
    """One row."""
    found = _ranked(draft)
    if found is None:
        return None
    rows, column, descending, slots = found
    one, does, _, _ = _wordings(draft, column, descending, slots)
    slots["np"], slots["is_best"] = _phrase(draft, one, slots), _phrase(draft, does, slots)
    order: Answer = ("order by", column, *(("desc",) if descending else ()), "limit", "1")
    if draft.rng.random() < 0.2:
        asked = _question_of_row(draft, rows, slots, order)
        if asked is not None:
            return asked
    return _asked(draft, rows, slots, order, ONE)


def _wordings(
    draft: Draft, column: SpokenColumn, descending: bool, slots: Slots
) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]:
    """The forms for a row, its verb, several rows and theirs: by adjective, verb, number or name."""
    rng = draft.rng
    if "sup" in slots and rng.random() < 0.5:
        have_best = frames.HAVE_BEST_ADJECTIVE
        return frames.BY_ADJECTIVE, frames.IS_BEST_ADJECTIVE, frames.MANY_BY_ADJECTIVE, have_best
    verbs = column.meaning(SUPERLATIVE_VERBS)
    if verbs and rng.random() < 0.5 and is_only(column, VERBS, [verb for verb, _ in verbs]):
        verb, verbing = rng.choice(verbs)
        the_most = rng.choice(
            ("the most", "the most", "most") if descending else ("the least", "the least", "least")
        )
        words = {"verb": verb, "verbs": third_person(verb), "verbing": verbing, "the_most": the_most}
        slots |= {name: _constant(word) for name, word in words.items()}
        return frames.BY_VERB, frames.DOES_BY_VERB, frames.MANY_BY_VERB, frames.DO_BY_VERB
    if column.is_counted and rng.random() < 0.5:
        slots["cs"] = lambda: draft.column(column, many=True)
        slots["most"] = lambda: rng.choice(MOST if descending else FEWEST)
        return frames.BY_NUMBER, frames.HAS_NUMBER, frames.MANY_BY_NUMBER, frames.HAVE_NUMBER
    if column.kind is ColumnKind.DATE:
        return frames.BY_COLUMN, frames.IS_BEST_DATE, frames.MANY_BY_DATE, frames.HAVE_BEST_DATE
    is_best = frames.IS_BEST_COLUMN if descending else frames.IS_WORST_COLUMN
    return frames.BY_COLUMN, is_best, frames.MANY_BY_COLUMN, frames.HAVE_BEST_COLUMN


def _constant(word: str) -> Callable[[], str]:
    return lambda: word


def _question_of_row(draft: Draft, rows: WrittenRows, slots: Slots, order: Answer) -> Written | None:
    """A question for a column without its name: who wrote the longest book."""
    column = draft.rng.choice(rows.table.plain)
    question = question_for(draft, column)
    if question is None:
        return None
    slots["x"] = lambda: f"the {slots['np']()}"
    slots["q"] = lambda: said(draft, (question,), slots)
    return Written(said(draft, frames.QUESTION_OF_ROW, slots), ("select", column, *rows.source, *order))


def top_rows(draft: Draft) -> Written | None:
    """Several rows."""
    found = _ranked(draft)
    if found is None:
        return None
    rows, column, descending, slots = found
    limit = add_limit(draft, slots)
    _, _, many, do = _wordings(draft, column, descending, slots)
    slots["nps"], slots["have_best"] = _phrase(draft, many, slots), _phrase(draft, do, slots)
    order: Answer = ("order by", column, *(("desc",) if descending else ()), "limit", limit)
    return _asked(draft, rows, slots, order, SEVERAL)


def ordered_rows(draft: Draft) -> Written | None:
    """All rows of a table, in an order."""
    table = draft.rng.choice(draft.schema.tables)
    rows = some_rows(draft, table, 0.2)
    if draft.rng.random() < 0.6:
        text, order = order_by(draft, table)
        slots = rows.slots(draft) | {"order": lambda: text}
        texts = [frame for frame in frames.ORDER if "{order}" in frame]
    else:
        column = draft.rng.choice(sortable(table))
        descending = draft.rng.random() < 0.5
        slots = rows.slots(draft) | _direction(draft, column, descending)
        order = ("order by", column, *(("desc",) if descending else ()))
        texts = [frame for frame in frames.ORDER if "{order}" not in frame]
    return Written(said(draft, texts, slots), ("select", "*", *rows.source, *order))


def top_other(draft: Draft) -> Written | None:
    """What the first row of a table has in another one: which brewery makes the strongest beer."""
    pair = some_pair(draft)
    name = None if pair is None or not pair.direct else pair.other.name_column
    found = None if pair is None or name is None else _ranked(draft, pair.rows)
    if pair is None or name is None or found is None:
        return None
    rows, column, descending, slots = found
    slots["np"] = _phrase(draft, _wordings(draft, column, descending, slots)[0], slots)
    slots |= {"other": lambda: draft.row(pair.other), "far": lambda: draft.column(name)}
    order: Answer = ("order by", column, *(("desc",) if descending else ()), "limit", "1")
    answer = ("select", name, *pair.source, *where(rows.conditions, rows.joint), *order)
    return Written(said(draft, join_frames.TOP_OTHER, slots), answer)


def _ranked(
    draft: Draft, table: SpokenTable | None = None
) -> tuple[WrittenRows, SpokenColumn, bool, Slots] | None:
    """Rows, the column that ranks them, whether downwards, and the words for it."""
    rng = draft.rng
    table = table or rng.choice(draft.schema.tables)
    columns = table.numbers + table.dates
    if not columns:
        return None
    column = rng.choice(columns)
    descending = rng.random() < 0.62
    rows = some_rows(draft, table, 0.25, column)
    slots = rows.slots(draft) | _direction(draft, column, descending)
    chosen = _superlative(draft, column, descending)
    if chosen is not None:
        slots["sup"] = lambda: chosen
    return rows, column, descending, slots


def _superlative(draft: Draft, column: SpokenColumn, descending: bool) -> str | None:
    """A superlative that speaks of this column and of no other."""
    rng = draft.rng
    adjectives = column.meaning(ADJECTIVES)
    if adjectives is not None:
        chosen = rng.choice(adjectives.most if descending else adjectives.least)
        return chosen if _is_clear(column, chosen) else None
    if column.kind is not ColumnKind.DATE:
        return None
    events = column.meaning(EVENTS)
    if events and rng.random() < 0.6:
        texts = frames.LATEST_EVENT if descending else frames.EARLIEST_EVENT
        return said(draft, texts, {"p": lambda: rng.choice(events)})
    if sum(each.kind is ColumnKind.DATE or "year" in each.words for each in column.table.columns) == 1:
        chosen = rng.choice(DATE_SUPERLATIVES[descending])
        return chosen if _is_clear(column, chosen) else None
    return None


def _is_clear(column: SpokenColumn, superlative: str) -> bool:
    """Whether the superlative speaks of no other column of the table."""
    for other in column.table.columns:
        adjectives = None if other is column else other.meaning(ADJECTIVES)
        if adjectives and (superlative in adjectives.most or superlative in adjectives.least):
            return False
    return has_no_rival(column, superlative)


def _direction(draft: Draft, column: SpokenColumn, descending: bool) -> Slots:
    rng = draft.rng
    is_date = column.kind is ColumnKind.DATE
    best = (
        (frames.LATE if descending else frames.EARLY)
        if is_date
        else frames.HIGH
        if descending
        else frames.LOW
    )
    down: tuple[str, ...] = (
        "descending",
        "descending",
        "in descending order",
        "from high to low",
        "desc",
        "decreasing",
        "downwards",
    )
    up: tuple[str, ...] = (
        "ascending",
        "ascending",
        "in ascending order",
        "from low to high",
        "asc",
        "increasing",
        "upwards",
    )
    if is_date:
        down, up = (*down[:3], "newest first", "latest first"), (*up[:3], "oldest first", "earliest first")
    return {
        "c": lambda: draft.column(column),
        "best": lambda: rng.choice(best),
        "end": lambda: "top" if descending else "bottom",
        "rank": lambda: "first" if descending else "last",
        "direction": lambda: rng.choice(down if descending else up),
        "adj_direction": lambda: rng.choice(
            ("descending", "decreasing") if descending else ("ascending", "increasing")
        ),
    }


def _phrase(draft: Draft, texts: Sequence[str], slots: Slots) -> Callable[[], str]:
    return lambda: said(draft, texts, slots)


def _asked(
    draft: Draft,
    rows: WrittenRows,
    slots: Slots,
    order: Answer,
    texts: tuple[tuple[str, ...], ...],
) -> Written | None:
    """The rows themselves, their names, or some of their columns."""
    rng = draft.rng
    whole, which, who, columns_of = texts
    chance = rng.random()
    if chance < 0.35:
        return Written(said(draft, whole, slots), ("select", "*", *rows.source, *order))
    if chance < 0.65:
        text = said(draft, who if rows.table.person and rng.random() < 0.5 else which, slots)
        return Written(text, ("select", name_or_all(rows.table), *rows.source, *order))
    columns = rng.sample(rows.table.columns, min(len(rows.table.columns), rng.choice((1, 1, 1, 2, 2, 3))))
    slots["cols"] = lambda: draft.listed(columns)
    slots["colsmany"] = lambda: draft.listed(columns, many=True)
    return Written(said(draft, columns_of, slots), ("select", *listed(columns), *rows.source, *order))
