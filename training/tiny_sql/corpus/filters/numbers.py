"""Conditions on numbers."""

import random
from collections.abc import Callable

from relserve.linking.schema import ColumnKind
from training.tiny_sql.corpus import phrases
from training.tiny_sql.corpus.conditions import number as texts
from training.tiny_sql.corpus.conditions import number_verbs as verbs_texts
from training.tiny_sql.corpus.conditions.forms import Forms
from training.tiny_sql.corpus.draft import Draft, Token
from training.tiny_sql.corpus.filters.condition import Condition, slots_of
from training.tiny_sql.corpus.lexicon.meanings import ADJECTIVES
from training.tiny_sql.corpus.lexicon.verbs import COUNTING_VERBS, UNITS, VERBS
from training.tiny_sql.corpus.spoken import SpokenColumn

OPERATORS = (
    (">", "<", ">=", "<=", "=", "!=", "between", "><"),
    (0.32, 0.24, 0.1, 0.09, 0.1, 0.03, 0.09, 0.03),
)
CLASSES = {">": "gt", "<": "lt", ">=": "ge", "<=": "le"}
WORDS = dict(enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2))


def number_filter(draft: Draft, column: SpokenColumn) -> Condition:
    """A comparison with a number, or with two."""
    rng = draft.rng
    operator = rng.choices(*OPERATORS)[0]
    if operator in ("between", "><"):
        low, high = sorted((random_number(rng, column), random_number(rng, column)), key=float)
        (v, left), (w, right) = spoken_number(draft, column, low), spoken_number(draft, column, high)
        answer: tuple[Token, ...] = (column, "between", left, "and", right)
        if operator == "><":
            answer = (column, ">", left, "and", column, "<", right)
    else:
        v, mark = spoken_number(draft, column, random_number(rng, column))
        answer, w = (column, operator, mark), ""
    slots = slots_of(draft, column, v=v, w=w)
    slots["unit"] = lambda: draft.mention(" ".join(column.words).removesuffix("s"))
    if operator in CLASSES:
        for slot, letter in (("cmp", ""), ("mcmp", "m")):
            name = f"<{letter}{CLASSES[operator]}>"
            slots[slot] = _comparison(rng, name)
    return Condition(draft, column, answer, _forms(rng, draft, column, operator, slots), slots)


def _comparison(rng: random.Random, name: str) -> Callable[[], str]:
    return lambda: phrases.said(name, rng, {})


def _forms(
    rng: random.Random, draft: Draft, column: SpokenColumn, operator: str, slots: dict[str, Callable[[], str]]
) -> Forms:
    """The forms of this comparison: often one without the column's name, where there is one."""
    if operator == "><":
        return texts.ABOVE_AND_BELOW
    named = _named(operator)
    if column.is_counted and operator not in ("!=", "between") and rng.random() < 0.5:
        verbs = column.meaning(COUNTING_VERBS)
        if verbs and operator != "=" and rng.random() < 0.4:
            _add_verb(rng, verbs, slots)
            return verbs_texts.VERBAL_COUNT
        return texts.COUNTED_EQUAL if operator == "=" else texts.COUNTED + texts.COUNTED_MORE[operator]
    wordings = [form for form in (_verbal, _adjectival, _aged) if rng.random() < 0.4]
    for wording in wordings:
        found = wording(rng, draft, column, operator, slots)
        if found is not None:
            return found
    return named


def _named(operator: str) -> Forms:
    if operator == "=":
        return texts.EQUAL
    if operator == "!=":
        return texts.NOT_EQUAL
    return texts.BETWEEN if operator == "between" else texts.COMPARED + texts.EXTRA[operator]


def _add_verb(
    rng: random.Random, verbs: tuple[tuple[str, str], ...], slots: dict[str, Callable[[], str]]
) -> None:
    verb, verbing = rng.choice(verbs)
    slots |= {"verb": lambda: verb, "verbing": lambda: verbing}


def _verbal(
    rng: random.Random, draft: Draft, column: SpokenColumn, operator: str, slots: dict[str, Callable[[], str]]
) -> Forms | None:
    verbs = column.meaning(VERBS)
    if verbs is None or operator in ("=", "!=") or not is_only(column, VERBS, [verb for verb, _ in verbs]):
        return None
    _add_verb(rng, verbs, slots)
    return verbs_texts.VERBAL_BETWEEN if operator == "between" else verbs_texts.VERBAL


def _adjectival(
    rng: random.Random, draft: Draft, column: SpokenColumn, operator: str, slots: dict[str, Callable[[], str]]
) -> Forms | None:
    adjectives = column.meaning(ADJECTIVES)
    if adjectives is None or operator not in "<>":
        return None
    chosen = rng.choice(adjectives.more if operator == ">" else adjectives.less)
    if not has_no_rival(column, chosen):
        return None
    slots["adj"] = lambda: chosen
    return verbs_texts.ADJECTIVAL


def _aged(
    rng: random.Random, draft: Draft, column: SpokenColumn, operator: str, slots: dict[str, Callable[[], str]]
) -> Forms | None:
    return verbs_texts.AGED.get(operator) if column.words[-1] == "age" else None


def is_only(column: SpokenColumn, lexicon: dict[str, tuple[tuple[str, str], ...]], words: list[str]) -> bool:
    """Whether no other column of the table goes by one of these verbs."""
    return not any(
        other is not column and any(verb in words for verb, _ in other.meaning(lexicon) or ())
        for other in column.table.columns
    )


def has_no_rival(column: SpokenColumn, adjective: str) -> bool:
    """Whether the adjective speaks of no other column of the table; `older` speaks of dates, too."""
    for other in column.table.columns:
        if other is column:
            continue
        adjectives = other.meaning(ADJECTIVES)
        if adjectives and any(adjective in each for each in adjectives):
            return False
        if other.kind is ColumnKind.DATE and adjective.split()[-1] in TIME_WORDS:
            return False
    return True


TIME_WORDS = frozenset("older oldest newer newest younger youngest recent latest earliest".split())


def random_number(rng: random.Random, column: SpokenColumn) -> str:
    """A number that such a column may be compared with."""
    if column.is_year:
        return str(rng.randint(1950, 2024))
    if column.kind is ColumnKind.INT:
        return str(
            rng.choice((rng.randint(1, 12), rng.randint(1, 100), rng.randint(10, 1000), rng.choice(ROUND)))
        )
    chance = rng.random()
    if chance < 0.45:
        return str(rng.randint(1, 100))
    if chance < 0.8:
        return str(round(rng.uniform(0, 100), rng.choice((1, 1, 2))))
    return str(rng.choice((rng.randint(100, 5000), rng.choice(ROUND))))


def _in_thousands(number: int, briefly: bool) -> str:
    if number % 1_000_000 == 0:
        return f"{number // 1_000_000}" + ("m" if briefly else " million")
    return f"{number // 1000}" + ("k" if briefly else " thousand")


ROUND = (100, 200, 250, 500, 1000, 1500, 2000, 5000, 10000, 20000, 50000, 100000, 1000000)


def spoken_number(draft: Draft, column: SpokenColumn, number: str) -> tuple[str, Token]:
    """Mention a number as people write it: `5000`, `5,000`, `5k`, `five`, `5000 euros`."""
    rng, spoken, chance = draft.rng, number, draft.rng.random()
    whole = int(number) if number.isdigit() else None
    if whole is not None and not column.is_year:
        if whole >= 1000 and chance < 0.25:
            spoken = f"{whole:,}"
        elif whole >= 1000 and whole % 1000 == 0 and chance < 0.45:
            spoken = _in_thousands(whole, chance < 0.35)
        elif whole in WORDS and chance < 0.12:
            spoken = WORDS[whole]
    marker, mark = draft.value(spoken, number)
    units = column.meaning(UNITS)
    if units and rng.random() < 0.15:
        unit = rng.choice(units)
        marker += unit if unit == "%" else f" {unit}"
    return marker, mark
