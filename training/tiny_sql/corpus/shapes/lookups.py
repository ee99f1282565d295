"""Questions for what one thing has, which is called by its name."""

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus.draft import Draft
from training.tiny_sql.corpus.filters.texts import text_value
from training.tiny_sql.corpus.frames import lookups as frames
from training.tiny_sql.corpus.lexicon.lookups import QUESTIONS
from training.tiny_sql.corpus.shapes.written import Slots, Written, listed, said
from training.tiny_sql.corpus.spoken import SpokenColumn


def lookup(draft: Draft) -> Written | None:
    """Some columns of a thing, or its row."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    key = table.name_column
    columns = [column for column in table.plain if column is not key]
    if key is None or not columns:
        return None
    x, mark, is_known = text_value(draft, key)
    slots: Slots = {
        "x": lambda: x if is_known or rng.random() < 0.5 else f"the {draft.row(table)} {x}",
        "row": lambda: draft.row(table),
        "key": lambda: draft.column(key),
    }
    source = ("from", table, "where", key, "=", mark)
    if rng.random() < 0.12:
        return Written(said(draft, frames.ROW_OF, slots), ("select", "*", *source))
    chosen = rng.sample(columns, min(len(columns), rng.choice((1, 1, 1, 2))))
    asked = question_for(draft, chosen[0]) if len(chosen) == 1 else None
    if asked is not None:
        slots["q"] = lambda: said(draft, (asked,), slots)
        return Written(said(draft, frames.OPENINGS, slots), ("select", chosen[0], *source))
    slots["cols"] = lambda: draft.listed(chosen)
    return Written(said(draft, frames.LOOKUP, slots), ("select", *listed(chosen), *source))


def lookup_by_number(draft: Draft) -> Written | None:
    """The row with a number as its key, or some columns of it."""
    rng = draft.rng
    table = rng.choice(draft.schema.tables)
    key = next((column for column in table.columns if column.words[-1] == "id" and not column.refers), None)
    if key is None or not table.plain:
        return None
    number = str(rng.choice((rng.randint(1, 60), rng.randint(1, 9999))))
    v, mark = draft.value(number, number)
    slots: Slots = {"x": lambda: v, "row": lambda: draft.row(table), "key": lambda: draft.column(key)}
    slots["numbered"] = lambda: said(draft, frames.NUMBERED, slots)
    source = ("from", table, "where", key, "=", mark)
    if rng.random() < 0.4:
        return Written(said(draft, frames.ROW_OF_NUMBER, slots), ("select", "*", *source))
    chosen = rng.sample(table.plain, min(len(table.plain), rng.choice((1, 1, 2))))
    slots["cols"] = lambda: draft.listed(chosen)
    return Written(said(draft, frames.LOOKUP_NUMBER, slots), ("select", *listed(chosen), *source))


def question_for(draft: Draft, column: SpokenColumn) -> str | None:
    """A question for the column that does not name it, where no other column could be meant."""
    questions = column.meaning(QUESTIONS)
    if not questions or draft.rng.random() < 0.3:
        return None
    chosen = draft.rng.choice(questions)
    for other in column.table.columns:
        if other is not column and (
            chosen in (other.meaning(QUESTIONS) or ()) or _could_answer(chosen, other)
        ):
            return None
    return chosen


def _could_answer(question: str, column: SpokenColumn) -> bool:
    """Whether a question for a time or a place would find another column, too."""
    if question.startswith("when"):
        return column.kind is ColumnKind.DATE or "year" in column.words
    return question.startswith("where") and bool(column.meaning(WHERES))


WHERES = {
    column: True for column, texts in QUESTIONS.items() if any(text.startswith("where") for text in texts)
}


def of_several(question: str) -> str:
    """A question of `lexicon.lookups` about several things: how old are they."""
    words = [AFTER_SEVERAL.get(word, word) for word in question.split()]
    return " ".join(words)


AFTER_SEVERAL = {"is": "are", "was": "were", "does": "do"}
