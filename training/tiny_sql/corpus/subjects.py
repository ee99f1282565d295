"""Noun phrases for rows with conditions: `active customers from Spain with more than 5 orders`."""

from collections.abc import Sequence

from training.tiny_sql.corpus.draft import Draft, Token
from training.tiny_sql.corpus.filters.condition import Condition
from training.tiny_sql.corpus.spoken import SpokenTable

AND = (" and ",) * 6 + (", ", " ", " and also ", " but ", " as well as ", ", and ", " and ")
OR = (" or ",) * 5 + (", or ", " or else ", " or ")
PREDICATE_AND = (" and ",) * 5 + (" but ", " and also ", ", and ", " and ")
NOUN_SHARE = 0.25  # of conditions whose value may stand for the rows
ANYBODY = ("people", "persons", "everyone", "those", "people", "the ones", "anyone")
ANYTHING = (
    "those",
    "the ones",
    "everything",
    "items",
    "entries",
    "records",
    "things",
    "rows",
    "ones",
    "anything",
)
ANYTHING_SHARE = 0.06
KEYWORDS = (" ", " ", ", ", " and ", " & ", "; ")


def subject(
    draft: Draft,
    table: SpokenTable,
    conditions: Sequence[Condition] = (),
    one: bool = False,
    joint: str = "and",
) -> str:
    """The table's noun, for one row or several, with its conditions before and after it."""
    rng = draft.rng
    before, rest = "", list(conditions)
    noun = next((each for each in conditions if each.has_noun and joint == "and"), None)
    if noun is not None and rng.random() < NOUN_SHARE:
        rest.remove(noun)
        said = noun.noun()
    else:
        said = _noun(draft, table, bool(conditions), one)
    if joint == "and":
        for condition in tuple(rest):
            if condition.has_premodifier and not before and rng.random() < 0.5:
                before = condition.premodifier() + " "
                rest.remove(condition)
    connectives = OR if joint == "or" else AND
    after = rng.choice(connectives).join([condition.modifier(one) for condition in rest])
    return f"{before}{said} {after}".rstrip()


def _noun(draft: Draft, table: SpokenTable, is_limited: bool, one: bool) -> str:
    """The table's noun; at times, where there is one table only, a word for anything."""
    if is_limited and not one and len(draft.schema.tables) == 1 and draft.rng.random() < ANYTHING_SHARE:
        return draft.rng.choice(ANYBODY if table.person else ANYTHING)
    return draft.row(table) if one else draft.rows(table)


def modifiers(draft: Draft, conditions: Sequence[Condition], joint: str) -> str:
    """The conditions as they follow a noun, without it."""
    return draft.rng.choice(OR if joint == "or" else AND).join([each.modifier() for each in conditions])


def predicate(draft: Draft, conditions: Sequence[Condition], one: bool = False, joint: str = "and") -> str:
    """The conditions as verbs after the subject."""
    connectives = OR if joint == "or" else PREDICATE_AND
    return draft.rng.choice(connectives).join([condition.predicate(one) for condition in conditions])


def terse(draft: Draft, table: SpokenTable, conditions: Sequence[Condition], joint: str = "and") -> str:
    """The noun and its conditions as keywords."""
    between = " or " if joint == "or" else draft.rng.choice(KEYWORDS)
    noun = draft.rows(table) if draft.rng.random() < 0.8 else draft.row(table)
    words = between.join([condition.keywords() for condition in conditions])
    return f"{words} {noun}" if draft.rng.random() < 0.15 else f"{noun} {words}"


def where(conditions: Sequence[Condition], joint: str = "and") -> list[Token]:
    """The answer's WHERE, empty without conditions."""
    out: list[Token] = []
    for condition in conditions:
        out += [joint if out else "where", *condition.answer]
    return out
