"""Noun phrases for rows with conditions: `active customers from Spain with more than 5 orders`."""

from collections.abc import Sequence

from relserve.tiny_sql.corpus.draft import Draft, Token
from relserve.tiny_sql.corpus.filters.condition import Condition
from relserve.tiny_sql.corpus.spoken import SpokenTable

AND = (" and ",) * 6 + (", ", " ", " and also ", " but ", " as well as ", ", and ", " and ")
OR = (" or ",) * 5 + (", or ", " or else ", " or ")
PREDICATE_AND = (" and ",) * 5 + (" but ", " and also ", ", and ", " and ")
KEYWORDS = (" ", " ", ", ", " and ", " & ", "; ")


def subject(
    draft: Draft,
    table: SpokenTable,
    conditions: Sequence[Condition] = (),
    one: bool = False,
    joint: str = "and",
) -> str:
    """The table's noun, for one row or several, with its conditions before and after it."""
    noun = draft.row(table) if one else draft.rows(table)
    rng = draft.rng
    before = ""
    rest = list(conditions)
    if joint == "and":
        for condition in conditions:
            if condition.has_premodifier and not before and rng.random() < 0.5:
                before = condition.premodifier() + " "
                rest.remove(condition)
    connectives = OR if joint == "or" else AND
    after = rng.choice(connectives).join([condition.modifier(one) for condition in rest])
    return f"{before}{noun} {after}".rstrip()


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
