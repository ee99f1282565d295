"""Questions for one row a group, where the groups are of another table."""

from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.frames import groups as group_frames
from training.tiny_sql.corpus.frames import joins as frames
from training.tiny_sql.corpus.shapes.aggregates import some_aggregate
from training.tiny_sql.corpus.shapes.counts import COUNT
from training.tiny_sql.corpus.shapes.groups import add_extremes, add_limit, count_comparison
from training.tiny_sql.corpus.shapes.joins import JoinedTables, some_pair
from training.tiny_sql.corpus.shapes.written import Answer, Written, said
from training.tiny_sql.corpus.spoken import SpokenColumn


def join_groups(draft: Draft) -> Written | None:
    """Groups by the other table's name, or by another column of it."""
    pair = some_pair(draft)
    if pair is None:
        return None
    name = pair.other.name_column
    if name is not None and draft.rng.random() < 0.55:
        return _by_name(draft, pair, name)
    columns = [column for column in pair.other.groups if column is not name]
    return _by_column(draft, pair, draft.rng.choice(columns)) if columns else None


def _by_column(draft: Draft, pair: JoinedTables, column: SpokenColumn) -> Written | None:
    rng = draft.rng
    slots = pair.slots(draft)
    plain = {"g": lambda: draft.column(column)}
    slots["g"] = lambda: said(draft, frames.OTHER_NOUNS, slots | plain)
    slots["gs"] = lambda: f"{draft.row(pair.other)} {draft.column(column, many=True)}"
    aggregate = some_aggregate(draft, pair.rows) if rng.random() < 0.4 else None
    measure = COUNT if aggregate is None else aggregate.answer
    if rng.random() < 0.2 and aggregate is None:
        most = rng.random() < 0.75
        add_extremes(draft, slots, most)
        order: Answer = ("order by", *COUNT, *(("desc",) if most else ()), "limit", "1")
        text = said(draft, group_frames.TOP_COUNT[:20], slots)
        return Written(text, ("select", column, *pair.source, "group by", column, *order))
    if aggregate is not None:
        slots["n"] = lambda: aggregate.said(draft)
    text = said(draft, group_frames.COUNT if aggregate is None else group_frames.AGGREGATE, slots)
    return Written(text, ("select", column, ",", *measure, *pair.source, "group by", column))


def _by_name(draft: Draft, pair: JoinedTables, name: SpokenColumn) -> Written | None:
    rng = draft.rng
    slots = pair.slots(draft)
    slots["far"] = lambda: draft.column(name)
    chance = rng.random()
    head: Answer = ("select", name, *pair.source, "group by", name)
    if chance < 0.4:
        return Written(said(draft, frames.GROUP_COUNT_NAME, slots), ("select", name, ",", *COUNT, *head[2:]))
    if chance < 0.55:
        aggregate = some_aggregate(draft, pair.rows)
        if aggregate is None:
            return None
        slots["n"] = lambda: aggregate.said(draft)
        return Written(
            said(draft, frames.GROUP_AGGREGATE_NAME, slots),
            ("select", name, ",", *aggregate.answer, *head[2:]),
        )
    if chance < 0.7:
        comparison = count_comparison(draft, slots)
        return Written(said(draft, frames.GROUP_HAVING_NAME, slots), (*head, "having", *COUNT, *comparison))
    most = rng.random() < 0.75
    add_extremes(draft, slots, most)
    several = rng.random() < 0.35
    limit = add_limit(draft, slots) if several else "1"
    text = said(draft, frames.GROUP_TOPS_NAME if several else frames.GROUP_TOP_NAME, slots)
    return Written(text, (*head, "order by", *COUNT, *(("desc",) if most else ()), "limit", limit))
