"""Conditions on texts."""

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus.conditions import text as texts
from training.tiny_sql.corpus.draft import Draft, ValueMark
from training.tiny_sql.corpus.filters.condition import Condition, slots_of
from training.tiny_sql.corpus.lexicon.values import PERSONS
from training.tiny_sql.corpus.lexicon.verbs import BY, MEMBERSHIPS, PLACES
from training.tiny_sql.corpus.spoken import SpokenColumn
from training.tiny_sql.corpus.words import common_word, made_up_word, plural

QUOTES = ("'%s'", "'%s'", '"%s"')
CONTAINS_SHARE = 0.14
NOT_SHARE = 0.1
EITHER_SHARE = 0.1
UNKNOWN_SHARE = 0.13  # values that the database does not have
BARE_SHARE = 0.6  # of values that only this column has


def text_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """A text that equals, does not equal, contains, or is one of two."""
    chance = draft.rng.random()
    if column.is_long or chance < CONTAINS_SHARE:
        return _contains(draft, column)
    if chance < CONTAINS_SHARE + NOT_SHARE:
        return _not_equal(draft, column)
    if chance < CONTAINS_SHARE + NOT_SHARE + EITHER_SHARE and len(column.values) > 1:
        return _either(draft, column)
    return _equal(draft, column)


def _equal(draft: Draft, column: SpokenColumn) -> Condition:
    rng = draft.rng
    v, mark, is_bare = text_value(draft, column)
    slots = slots_of(draft, column, v=v)
    forms = texts.EQUAL
    if column is column.table.name_column and rng.random() < 0.6:
        forms = texts.NAMED
    elif is_bare and rng.random() < BARE_SHARE:
        forms = texts.BARE
        done = column.meaning(BY)
        if column.words[-1] in PLACES:
            forms = rng.choice((texts.PLACE, texts.PLACE, texts.BARE))
        elif column.words[-1] in MEMBERSHIPS:
            forms = rng.choice((texts.MEMBER, texts.MEMBER, texts.BARE))
        elif done:
            participle, past = rng.choice(done)
            slots |= {"done": lambda: participle, "did": lambda: past}
            forms = texts.MADE_BY
    return Condition(draft, column, (column, "=", mark), forms, slots)


def _not_equal(draft: Draft, column: SpokenColumn) -> Condition:
    v, mark, is_bare = text_value(draft, column)
    forms = texts.NOT_BARE if is_bare and draft.rng.random() < 0.4 else texts.NOT_EQUAL
    return Condition(draft, column, (column, "!=", mark), forms, slots_of(draft, column, v=v))


def _either(draft: Draft, column: SpokenColumn) -> Condition:
    v, left, is_bare = text_value(draft, column)
    w, right, other_is_bare = text_value(draft, column, avoid=draft.mentions[left.mention].value)
    is_bare = is_bare and other_is_bare and draft.rng.random() < BARE_SHARE
    answer = (column, "=", left, "or", column, "=", right)
    return Condition(
        draft,
        column,
        answer,
        texts.EITHER_BARE if is_bare else texts.EITHER,
        slots_of(draft, column, v=v, w=w),
    )


def _contains(draft: Draft, column: SpokenColumn) -> Condition:
    rng = draft.rng
    word = (
        common_word(rng, draft.schema.held_out)
        if rng.random() < 0.7
        else made_up_word(rng, draft.schema.held_out)
    )
    if rng.random() < 0.15:
        word = rng.choice(column.values).split()[0].strip(".").lower()
    quoted = rng.random() < 0.65
    v, mark = draft.value(
        rng.choice(QUOTES) % word.replace("'", "") if quoted else word, word.replace("'", "")
    )
    forms = texts.CONTAINS
    if _is_only_text(column) and rng.random() < 0.45:
        forms = texts.CONTAINS_BARE
    return Condition(
        draft, column, ("contains", "(", column, ",", mark, ")"), forms, slots_of(draft, column, v=v)
    )


def _is_only_text(column: SpokenColumn) -> bool:
    """Whether a text to be searched can be no other column's."""
    others = [
        other for other in column.table.columns if other is not column and other.kind is ColumnKind.TEXT
    ]
    return not any(other.is_long for other in others) if column.is_long else not others


def text_value(draft: Draft, column: SpokenColumn, avoid: str | None = None) -> tuple[str, ValueMark, bool]:
    """Mention a value of the column; the last tells whether it needs no column beside it."""
    rng = draft.rng
    if rng.random() < UNKNOWN_SHARE or not column.values:
        return (*_unknown_value(draft), False)
    value = rng.choice([value for value in column.values if value != avoid])
    is_bare = _holders(draft, value) == 1
    chance = rng.random()
    spoken = value
    if chance < 0.25 or column.is_long:
        spoken = rng.choice(QUOTES) % value.replace("'", "")
        if "'" in value:
            spoken = f'"{value}"'
    elif chance < 0.37:
        spoken = value.lower()
    elif chance < 0.39:
        spoken = value.upper()
    elif chance < 0.41:
        spoken = value.capitalize()
    elif chance < 0.52 and _has_plural(column, value):
        *first, last = value.split()
        spoken = " ".join((*first, plural(last)))
    return (*draft.value(spoken, value), is_bare)


def _has_plural(column: SpokenColumn, value: str) -> bool:
    is_name = column.words[-1] in PERSONS or column is column.table.name_column
    return not is_name and value.replace(" ", "").isalpha() and not value.endswith("s")


def _unknown_value(draft: Draft) -> tuple[str, ValueMark]:
    rng, held_out = draft.rng, draft.schema.held_out
    words = [made_up_word(rng, held_out).capitalize() for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.4:
        words[-1] = common_word(rng, held_out).capitalize()
    value = " ".join(words)
    return draft.value(rng.choice((value, *(quote % value for quote in QUOTES))), value)


def _holders(draft: Draft, value: str) -> int:
    """How many columns of the schema hold the value."""
    folded = value.lower()
    return sum(
        any(other.lower() == folded for other in column.values)
        for table in draft.schema.tables
        for column in table.columns
    )
