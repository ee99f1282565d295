"""Questions for one row a group: counts, aggregates, groups of a size, and the first groups."""

from collections.abc import Callable, Sequence

from relserve.linking.schema import ColumnKind
from training.phrase_files import Phrases
from training.tiny_sql.corpus import phrases
from training.tiny_sql.corpus.draft import Draft, Token
from training.tiny_sql.corpus.filters.numbers import CLASSES, random_number, spoken_number
from training.tiny_sql.corpus.frames import groups as frames
from training.tiny_sql.corpus.lexicon.verbs import EVENTS
from training.tiny_sql.corpus.shapes.aggregates import Aggregate, some_aggregate
from training.tiny_sql.corpus.shapes.counts import COUNT
from training.tiny_sql.corpus.shapes.written import Answer, Slots, Written, WrittenRows, said, some_rows
from training.tiny_sql.corpus.spoken import SpokenColumn

_PHRASES = Phrases(__file__)

MOST = _PHRASES["MOST"]
FEWEST = ("the fewest", "the fewest", "the least", "the smallest number of", "the lowest number of", "fewest")
COMMON = _PHRASES["COMMON"]
RARE = ("least common", "rarest", "least frequent", "least popular", "least often used")
LIMITS = _PHRASES["LIMITS"]
NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "ten": "10"}
YEAR_SHARE = 0.5  # of groups by a date


def count_groups(draft: Draft) -> Written | None:
    """The number of rows of each group."""
    found = _group(draft, 0.25)
    if found is None:
        return None
    rows, key, slots = found
    events = _column_of(key).meaning(EVENTS) if len(key) > 1 else None
    texts: Sequence[str] = frames.COUNT
    if events and draft.rng.random() < 0.5:
        chosen = draft.rng.choice(events)
        slots["p"] = lambda: chosen
        texts = frames.COUNT_EVENTS
    elif len(draft.schema.tables) == 1 and not rows.conditions and draft.rng.random() < 0.2:
        texts = frames.COUNT_ALONE
    elif draft.rng.random() < 0.05:
        return Written(said(draft, frames.RANK_COUNT, slots), _ranked(rows, key, COUNT))
    text = said(draft, texts, slots)
    ordering, order = _ordered(draft, key, slots, COUNT)
    return Written(
        _extended(text, ordering), ("select", *key, ",", *COUNT, *rows.source, "group by", *key, *order)
    )


def aggregate_groups(draft: Draft) -> Written | None:
    """An aggregate of each group."""
    found = _group(draft, 0.25)
    if found is None:
        return None
    rows, key, slots = found
    aggregate = some_aggregate(draft, rows.table, _column_of(key))
    if aggregate is None:
        return None
    slots["n"] = lambda: aggregate.said(draft)
    chance = draft.rng.random()
    if chance < 0.06:
        return Written(said(draft, frames.RANK_AGGREGATE, slots), _ranked(rows, key, aggregate.answer))
    if chance < 0.16:
        return _two_measures(draft, rows, key, slots, aggregate)
    alone = not rows.conditions and draft.rng.random() < 0.35 and draft.needs_no_table(aggregate.column)
    text = said(draft, frames.AGGREGATE_ALONE if alone else frames.AGGREGATE, slots)
    ordering, order = _ordered(draft, key, slots, aggregate.answer)
    answer = ("select", *key, ",", *aggregate.answer, *rows.source, "group by", *key, *order)
    return Written(_extended(text, ordering), answer)


def _ranked(rows: WrittenRows, key: Answer, measure: Answer) -> Answer:
    return ("select", *key, ",", *measure, *rows.source, "group by", *key, "order by", *measure, "desc")


def _two_measures(
    draft: Draft, rows: WrittenRows, key: Answer, slots: Slots, first: Aggregate
) -> Written | None:
    """The number of rows and an aggregate, or two aggregates."""
    second = some_aggregate(draft, rows.table, _column_of(key))
    if second is None or second == first:
        measure: Answer = (*COUNT, ",", *first.answer)
        slots["n"] = lambda: f"number and {first.said(draft)}"
    else:
        measure = (*first.answer, ",", *second.answer)
        slots["n"] = lambda: f"{first.said(draft)} and {second.said(draft)}"
    text = said(draft, frames.AGGREGATE, slots)
    return Written(text, ("select", *key, ",", *measure, *rows.source, "group by", *key))


def _group(draft: Draft, share: float) -> tuple[WrittenRows, Answer, Slots] | None:
    """Rows, what they are grouped by, and slots for both: a column, or the year of a date."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    columns = table.groups + [date for date in table.dates if rng.random() < YEAR_SHARE]
    if not columns:
        return None
    column = rng.choice(columns)
    rows = some_rows(draft, table, share, column)
    slots = rows.slots(draft)
    key: Answer = (column,)
    if column.kind is ColumnKind.DATE:
        key = ("year", "(", column, ")")
        slots |= {"g": lambda: _year(draft, column), "gs": lambda: _year(draft, column, many=True)}
    else:
        slots |= {"g": lambda: draft.column(column), "gs": lambda: draft.column(column, many=True)}
    return rows, key, slots


def _year(draft: Draft, column: SpokenColumn, many: bool = False) -> str:
    """`year`, where the table has one date, else `year of the order date`."""
    rng = draft.rng
    year = "years" if many else "year"
    dates = [each for each in column.table.columns if each.kind is ColumnKind.DATE or "year" in each.words]
    if len(dates) == 1 and rng.random() < 0.5:
        return year
    if "year" in column.words:
        return draft.column(column, many)
    return rng.choice(
        (
            f"{year} of the {draft.column(column)}",
            f"{draft.column(column)} {year}",
            f"{year} of {draft.column(column)}",
        )
    )


def _column_of(key: Answer) -> SpokenColumn:
    return next(token for token in key if isinstance(token, SpokenColumn))


def _ordered(draft: Draft, key: Answer, slots: Slots, measure: Answer) -> tuple[str, Answer]:
    """Now and then an order by the measure or by the group."""
    chance = draft.rng.random()
    if chance < 0.08:
        return said(draft, frames.MOST_FIRST, slots), ("order by", *measure, "desc")
    if chance < 0.13:
        return said(draft, frames.LEAST_FIRST, slots), ("order by", *measure)
    if chance < 0.16 and len(key) == 1:
        return said(draft, frames.BY_GROUP, slots), ("order by", *key)
    return "", ()


def _extended(text: str, ordering: str) -> str:
    return text.rstrip("?") + ordering if ordering else text


def groups_having(draft: Draft) -> Written | None:
    """Groups with so many rows, or with such an aggregate."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    if not table.groups:
        return None
    column = rng.choice(table.groups)
    rows = some_rows(draft, table, 0.1, column)
    slots = rows.slots(draft) | _column_slots(draft, column)
    aggregate = some_aggregate(draft, table, column) if rng.random() < 0.35 else None
    if aggregate is None:
        measure: Answer = COUNT
        comparison = count_comparison(draft, slots)
        text = said(draft, frames.HAVING_COUNT, slots)
    else:
        measure = aggregate.answer
        comparison = _comparison(draft, slots, aggregate.column)
        slots["n"] = lambda: aggregate.said(draft)
        text = said(draft, frames.HAVING_AGGREGATE, slots)
    return Written(
        text, ("select", column, *rows.source, "group by", column, "having", *measure, *comparison)
    )


def _column_slots(draft: Draft, column: SpokenColumn) -> Slots:
    return {"g": lambda: draft.column(column), "gs": lambda: draft.column(column, many=True)}


def count_comparison(draft: Draft, slots: Slots) -> Answer:
    """A comparison of a number of rows: the slot {w} and the end of HAVING."""
    rng = draft.rng
    operator = rng.choices((">", "<", ">=", "<=", "="), (0.4, 0.2, 0.2, 0.08, 0.12))[0]
    number = str(rng.choice((rng.randint(2, 6), rng.randint(2, 12), rng.randint(2, 12), rng.randint(2, 50))))
    words = {"2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "10": "ten"}
    spoken = words[number] if number in words and rng.random() < 0.3 else number
    v, mark = draft.value(spoken, number)
    name = "<exactly>" if operator == "=" else f"<m{CLASSES[operator]}>"
    slots["w"] = _phrase(draft, f"{name} ", v)
    if operator == ">=" and rng.random() < 0.2:
        slots["w"] = lambda: f"{v} or more"
    return operator, mark


def _comparison(draft: Draft, slots: Slots, column: SpokenColumn) -> Answer:
    rng = draft.rng
    operator = rng.choices((">", "<", ">=", "<="), (0.45, 0.35, 0.1, 0.1))[0]
    v, mark = spoken_number(draft, column, random_number(rng, column))
    slots["w"] = _phrase(draft, f"<{CLASSES[operator]}> ", v)
    return operator, mark


def _phrase(draft: Draft, text: str, end: str) -> Callable[[], str]:
    return lambda: phrases.said(text, draft.rng, {}) + end


def top_groups(draft: Draft) -> Written | None:
    """The group with the most or fewest rows, or the highest aggregate; or several of them."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    if not table.groups:
        return None
    column = rng.choice(table.groups)
    rows = some_rows(draft, table, 0.15, column)
    slots = rows.slots(draft) | _column_slots(draft, column)
    most = rng.random() < 0.75
    aggregate = some_aggregate(draft, table, column) if rng.random() < 0.35 else None
    measure = COUNT if aggregate is None else aggregate.answer
    limit: tuple[Token, ...] = ("limit", "1")
    several = rng.random() < 0.4
    if several:
        limit = ("limit", add_limit(draft, slots))
    add_extremes(draft, slots, most)
    if aggregate is None:
        text = said(draft, frames.TOP_COUNTS if several else frames.TOP_COUNT, slots)
    else:
        slots["n"] = lambda: aggregate.said(draft)
        text = said(draft, frames.TOP_AGGREGATES if several else frames.TOP_AGGREGATE, slots)
    order: Answer = ("order by", *measure, *(("desc",) if most else ()), *limit)
    return Written(text, ("select", column, *rows.source, "group by", column, *order))


def add_limit(draft: Draft, slots: Slots) -> Token:
    """The slot {k}: how many rows; gives its place in the answer."""
    spoken = draft.rng.choice(LIMITS)
    k, mark = draft.value(spoken, NUMBERS.get(spoken, spoken))
    slots["k"] = lambda: k
    return mark


def add_extremes(draft: Draft, slots: Slots, most: bool) -> None:
    """The words for the first or the last of an order by size."""
    rng = draft.rng
    slots |= {
        "most": lambda: rng.choice(MOST if most else FEWEST),
        "common": lambda: rng.choice(COMMON if most else RARE),
        "often": lambda: rng.choice(
            ("most often", "most frequently", "the most") if most else ("least often", "least frequently")
        ),
        "end": lambda: "top" if most else "bottom",
        "best": lambda: rng.choice(
            ("highest", "highest", "largest", "greatest", "biggest", "top")
            if most
            else ("lowest", "lowest", "smallest")
        ),
    }
