"""Questions over made-up schemas, with answers: `example` for one, `packed` for several over one schema.

What a question means, where English leaves it open:

- `which`, `what` and `who` ask for things: the answer is their name column, or whole rows where the table has
  none. `show`, `list`, `find`, a bare noun phrase and keywords ask for whole rows.
- A column in the plural with the word for its rows (`list the brands of all cars`) gives a value a row.
  DISTINCT stands where the question says different, distinct or unique, or that values occur, and for a text
  column in the plural alone (`list all brands`, `which brands exist`), unless it is the name column.
- A count or an aggregate `per` something gives group and number; `which brand has the most cars` gives
  the brand only. A group of another table's rows (`orders per customer`) is by that table's name column.
- Rows of one table under a condition on another (`films of studios in Spain`) are given by their name column.
- Ties are ignored: `the oldest` is one row.
- Values of one column joined by `and` before a plural (`from Spain and from Italy`) mean either value.
"""

import random
from typing import NamedTuple

from relserve.linking.handles import Handles
from relserve.linking.literals import QuestionValue
from relserve.linking.pointer import (
    PointerPrompt,
    linked_question,
    question_text,
    schema_handles,
    schema_text,
)
from relserve.linking.sql import PointerError
from relserve.linking.values import SchemaValues
from training.tiny_sql.corpus.draft import Draft, Token, ValueMark
from training.tiny_sql.corpus.rewording import reworded
from training.tiny_sql.corpus.schemas import schema as random_schema
from training.tiny_sql.corpus.shapes import (
    aggregates,
    columns,
    counts,
    groups,
    join_groups,
    joins,
    lookups,
    rows,
    tops,
)
from training.tiny_sql.corpus.shapes.written import Shape, Written
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenSchema, SpokenTable

SHAPES: dict[str, tuple[Shape, float]] = {
    "list": (rows.list_rows, 0.8),
    "list_cols": (columns.list_columns, 1.4),
    "filter": (rows.filter_rows, 2.2),
    "filter2": (rows.filter_rows_twice, 1.8),
    "null": (rows.null_rows, 0.3),
    "count": (counts.count_rows, 0.6),
    "count_filter": (counts.count_filtered, 2.0),
    "count_distinct": (counts.count_distinct, 0.8),
    "distinct": (columns.distinct_values, 0.7),
    "agg": (aggregates.aggregate_rows, 1.0),
    "agg_filter": (aggregates.aggregate_filtered, 1.6),
    "aggs": (aggregates.several_aggregates, 0.6),
    "group_count": (groups.count_groups, 1.2),
    "group_agg": (groups.aggregate_groups, 1.4),
    "group_having": (groups.groups_having, 0.9),
    "group_top": (groups.top_groups, 1.1),
    "order": (tops.ordered_rows, 0.6),
    "order_limit": (tops.top_rows, 1.4),
    "superlative": (tops.superlative, 1.5),
    "lookup": (lookups.lookup, 1.3),
    "lookup_number": (lookups.lookup_by_number, 0.3),
    "join_list": (joins.pairs, 0.8),
    "join_filter": (joins.linked_columns, 1.8),
    "join_count": (joins.linked_count, 0.8),
    "join_top": (tops.top_other, 0.5),
    "join_group": (join_groups.join_groups, 1.2),
}
NAMES, WEIGHTS = tuple(SHAPES), tuple(weight for _, weight in SHAPES.values())
TRIES = 8


class WordedQuestion(NamedTuple):
    """A question in words, with the answer in columns, tables and numbered values."""

    shape: str
    text: str
    answer: tuple[Token, ...]
    values: tuple[str, ...]  # the values as data, in the order of the text
    order: tuple[int, ...]  # which mention each of them is


class QuestionExample(NamedTuple):
    """A question with its prompt, and its answer in the prompt's handles."""

    schema: SpokenSchema
    shape: str
    question: str
    prompt: PointerPrompt
    answer: str


class Packed(NamedTuple):
    """Several questions over one schema: each as it stands after the schema's text, with its answer."""

    schema: str
    questions: tuple[tuple[str, str], ...]


def example(
    seed: str, held_out: bool = False, shape: str | None = None, drop: float = 0.0
) -> QuestionExample:
    """The example of a seed: over words that training never sees, where `held_out`."""
    rng = random.Random(seed)
    while True:
        schema = random_schema(rng, held_out)
        values = SchemaValues(schema.schema)
        for _ in range(TRIES):
            question = some_question(rng, schema, shape)
            if question is None:
                continue
            handles = schema_handles(schema.schema, rng)
            found = _linked(rng, schema, question, values, handles, drop)
            if found is not None:
                text, answer, values_found = found
                written = f"{schema_text(schema.schema, handles)} ? {text} =>"
                prompt = PointerPrompt(written, schema.schema, handles, values_found)
                return QuestionExample(schema, question.shape, question.text, prompt, answer)


def packed(seed: str, k: int = 3, drop: float = 0.0) -> Packed:
    """`k` questions over one schema; fewer over a schema that has little to ask for."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    values = SchemaValues(schema.schema)
    handles = schema_handles(schema.schema, rng)
    out: list[tuple[str, str]] = []
    for _ in range(k * TRIES):
        if len(out) == k:
            break
        question = some_question(rng, schema, None)
        found = None if question is None else _linked(rng, schema, question, values, handles, drop)
        if found is not None:
            out.append((f" ? {found[0]} =>", found[1]))
    return Packed(schema_text(schema.schema, handles), tuple(out))


def some_question(rng: random.Random, schema: SpokenSchema, shape: str | None) -> WordedQuestion | None:
    """A question over the schema, where the shape finds what it needs there."""
    name = shape or rng.choices(NAMES, WEIGHTS)[0]
    draft = Draft(rng, schema)
    written: Written | None = SHAPES[name][0](draft)
    if written is None:
        return None
    text = reworded(rng, written.text)
    order = draft.values_in(text)
    needed = sorted({token.mention for token in written.answer if isinstance(token, ValueMark)})
    if sorted(order) != needed:
        return None
    values = tuple(str(draft.mentions[number].value) for number in order)
    return WordedQuestion(name, draft.written(text), written.answer, values, tuple(order))


def _linked(
    rng: random.Random,
    schema: SpokenSchema,
    question: WordedQuestion,
    index: SchemaValues,
    handles: Handles,
    drop: float,
) -> tuple[str, str, tuple[QuestionValue, ...]] | None:
    """The marked question, its answer, and the values that were found; None where one was not."""
    try:
        linked = linked_question(schema.schema, question.text, index)
    except PointerError:
        return None
    numbers = _places(question, linked.values)
    if numbers is None:
        return None
    answer = " ".join([_handle(token, handles, numbers) for token in question.answer])
    return question_text(linked, handles, rng, drop), answer, linked.values


def _places(question: WordedQuestion, found: tuple[QuestionValue, ...]) -> dict[int, int] | None:
    """Which of the values that the linker found each mention is: both are in the order of the text."""
    places: dict[int, int] = {}
    at = 0
    for mention, value in zip(question.order, question.values, strict=True):
        while at < len(found) and not _is_same(found[at], value):
            at += 1
        if at == len(found):
            return None
        places[mention] = at
        at += 1
    return places


def _is_same(found: QuestionValue, value: str) -> bool:
    folded = value.casefold()
    return found.text.casefold() == folded or any(hit.value.casefold() == folded for hit in found.hits)


def _handle(token: Token, handles: Handles, values: dict[int, int]) -> str:
    if isinstance(token, SpokenColumn):
        return handles.columns[token.position]
    if isinstance(token, SpokenTable):
        return handles.tables[token.position]
    return f"v{values[token.mention]}" if isinstance(token, ValueMark) else token
