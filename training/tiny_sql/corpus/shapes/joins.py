"""Questions over two tables: pairs of columns, conditions on the other table, and counts over them."""

from functools import cache
from typing import NamedTuple

from relserve.linking.joins import routes
from training.tiny_sql.corpus.conditions.forms import Forms
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.choice import filters_on, simple_filter
from training.tiny_sql.corpus.filters.condition import Condition
from training.tiny_sql.corpus.filters.texts import text_value
from training.tiny_sql.corpus.frames import joins as frames
from training.tiny_sql.corpus.shapes.aggregates import some_aggregate
from training.tiny_sql.corpus.shapes.columns import order_by
from training.tiny_sql.corpus.shapes.counts import COUNT
from training.tiny_sql.corpus.shapes.written import Answer, Slots, Written, listed, said
from training.tiny_sql.corpus.spoken import SpokenTable
from training.tiny_sql.corpus.subjects import predicate, subject, where


class JoinedTables(NamedTuple):
    """The table whose rows are asked for, the other one, and both in the order that the answer names them."""

    rows: SpokenTable
    other: SpokenTable
    source: Answer
    direct: bool

    def slots(self, draft: Draft) -> Slots:
        """The nouns of both."""
        rows, other = self.rows, self.other
        return {
            "rows": lambda: draft.rows(rows),
            "row": lambda: draft.row(rows),
            "others": lambda: draft.rows(other),
            "other": lambda: draft.row(other),
        }


def some_pair(draft: Draft) -> JoinedTables | None:
    """Two tables with one way between them: mostly one that refers to the other, else over a third."""
    rng, tables = draft.rng, draft.schema.tables
    ways = routes(draft.schema.schema)
    direct = [pair for pair, steps in ways.items() if len(steps) == 1]
    bridged = [pair for pair, steps in ways.items() if len(steps) > 1]
    chosen = bridged if bridged and rng.random() < 0.25 else direct
    if not chosen:
        return None
    first, second = rng.choice(chosen)
    source: Answer = ("from", tables[first], "join", tables[second])
    turned = rng.random() < (0.5 if chosen is bridged else 0.1)
    rows, other = (second, first) if turned else (first, second)
    return JoinedTables(tables[rows], tables[other], source, chosen is direct and not turned)


def pairs(draft: Draft) -> Written | None:
    """A column of each."""
    pair = some_pair(draft)
    if pair is None or not pair.rows.plain or not pair.other.plain:
        return None
    own, far = draft.rng.choice(pair.rows.plain), draft.rng.choice(pair.other.plain)
    slots = pair.slots(draft)
    slots["own"] = lambda: draft.column(own, many=draft.rng.random() < 0.3)
    slots["far"] = lambda: draft.column(far)
    slots["ocol"] = lambda: said(draft, frames.OTHER_NOUNS, slots | {"g": lambda: draft.column(far)})
    text = said(draft, frames.PAIRS, slots)
    if draft.rng.random() < 0.12:
        ordering, order = order_by(draft, pair.rows)
        return Written(text.rstrip("?") + ordering, ("select", own, ",", far, *pair.source, *order))
    return Written(text, ("select", own, ",", far, *pair.source))


def _linked(draft: Draft) -> tuple[JoinedTables, Slots, Answer] | None:
    """Rows whose counterpart in the other table meets a condition."""
    rng = draft.rng
    pair = some_pair(draft)
    if pair is None or not pair.other.plain:
        return None
    slots = pair.slots(draft)
    key = pair.other.name_column
    if key is not None and rng.random() < 0.3:
        x, mark, is_known = text_value(draft, key)
        slots["x"] = lambda: x
        bare = is_known and rng.random() < 0.5
        slots["which"] = slots["which_one"] = lambda: x if bare else f"{draft.row(pair.other)} {x}"
        texts = ("of {x}", "by {x}", "from {x}", "for {x}", "of {x}") if bare else frames.LINKS_WITH_ONE
        slots["link"] = lambda: said(draft, texts, slots)
        slots["link_do"] = lambda: said(draft, ("belong to {which}", "are (from|by|of) {which}"), slots)
        return pair, slots, ("where", key, "=", mark)
    conditions = filters_on(draft, pair.other, 2 if rng.random() < 0.1 else 1)
    if not conditions:
        return None
    _add_links(draft, pair, conditions, slots)
    answer = tuple(where(conditions))
    own = pair.rows.plain
    if own and rng.random() < 0.2 and "or" not in answer:
        extra = simple_filter(draft, rng.choice(own))
        slots["rows"] = lambda: subject(draft, pair.rows, [extra])
        slots["row"] = lambda: subject(draft, pair.rows, [extra], one=True)
        answer = (
            (*answer, "and", *extra.answer)
            if rng.random() < 0.5
            else ("where", *extra.answer, "and", *answer[1:])
        )
    return pair, slots, answer


def _add_links(draft: Draft, pair: JoinedTables, conditions: list[Condition], slots: Slots) -> None:
    slots["which"] = lambda: subject(draft, pair.other, conditions)
    slots["which_one"] = lambda: subject(draft, pair.other, conditions, one=True)
    slots["does"] = lambda: predicate(draft, conditions, one=True)
    slots["link"] = lambda: said(draft, frames.LINKS, slots)
    slots["link_do"] = lambda: said(draft, frames.LINK_PREDICATES, slots)
    named = _with_its_table(draft, pair, conditions[0]) if len(conditions) == 1 else None
    if named is not None and draft.rng.random() < 0.4:
        slots["link"], slots["link_do"] = named.modifier, named.predicate


@cache
def _naming(forms: Forms) -> Forms:
    """The forms that name their column."""
    return forms.only("{col")


def _with_its_table(draft: Draft, pair: JoinedTables, condition: Condition) -> Condition | None:
    """The condition as one of the first table's rows: `orders with a customer city of Rome`."""
    forms = _naming(condition.forms)
    if not forms.modifiers or not forms.predicates:
        return None

    def column(many: bool) -> str:
        owner = draft.row(pair.other) + draft.rng.choice((" ", " ", "'s "))
        return owner + draft.column(condition.column, many)

    slots = {**condition.slots, "col": lambda: column(False), "cols": lambda: column(True)}
    return condition._replace(forms=forms, slots=slots)


def linked_columns(draft: Draft) -> Written | None:
    """Columns of rows under a condition on the other table; at times rows, or an aggregate."""
    found = _linked(draft)
    if found is None:
        return None
    pair, slots, condition = found
    rng = draft.rng
    chance = rng.random()
    if chance < 0.2:
        aggregate = some_aggregate(draft, pair.rows)
        if aggregate is not None:
            slots["n"] = lambda: aggregate.said(draft)
            return Written(
                said(draft, frames.AGGREGATE, slots), ("select", *aggregate.answer, *pair.source, *condition)
            )
    name = pair.rows.name_column
    if chance < 0.55 and name is not None:
        texts = frames.WHICH if chance < 0.38 else frames.ROWS
        return Written(said(draft, texts, slots), ("select", name, *pair.source, *condition))
    if not pair.rows.plain:
        return None
    columns = rng.sample(pair.rows.plain, min(len(pair.rows.plain), rng.choice((1, 1, 2))))
    slots["own"] = lambda: draft.listed(columns, many=rng.random() < 0.5)
    return Written(said(draft, frames.COLUMNS, slots), ("select", *listed(columns), *pair.source, *condition))


def linked_count(draft: Draft) -> Written | None:
    """The number of rows under a condition on the other table."""
    found = _linked(draft)
    if found is None:
        return None
    pair, slots, condition = found
    return Written(said(draft, frames.COUNT, slots), ("select", *COUNT, *pair.source, *condition))
