"""Conditions on numbers without the column's name: by a verb, an adjective, an age. Slots as in `number`."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

# {verb} and {verbing} take the value: `weigh more than 5`; {adj} a comparative: `heavier than 5`.
VERBAL = Forms(
    modifiers=_PHRASES["VERBAL modifiers"],
    predicates=("*{verb} {cmp} {v}",),
    keywords=("{verbing} {cmp} {v}",),
)
VERBAL_BETWEEN = Forms(
    modifiers=(
        "that *{verb} between {v} and {w}",
        "{verbing} (between|from) {v} and {w}",
        "that *{verb} {v} to {w}",
    ),
    predicates=("*{verb} between {v} and {w}", "*{verb} (from|) {v} to {w}"),
)
VERBAL_COUNT = Forms(
    modifiers=(
        "that *{verb} {mcmp} {v} {cols}",
        "who *{verb} {mcmp} {v} {cols}",
        "{verbing} {mcmp} {v} {cols}",
    ),
    predicates=("*{verb} {mcmp} {v} {cols}", "*{verb} {mcmp} {v} {cols}"),
)
ADJECTIVAL = Forms(
    modifiers=_PHRASES["ADJECTIVAL modifiers"],
    predicates=("*be {adj} than {v}", "*be {adj} than {v}"),
    keywords=("{adj} than {v}",),
)
AGED = {
    "between": Forms(
        _PHRASES["AGED between 1"],
        ("*be between {v} and {w} [years old]", "*be aged {v} to {w}"),
    ),
    ">": Forms(
        _PHRASES["AGED > 1"],
        ("*be over {v} [years old]", "*be above {v}", "*be past the age of {v}"),
        ("over {v}", "age over {v}"),
    ),
    "<": Forms(
        _PHRASES["AGED < 1"],
        ("*be under {v} [years old]", "*be below {v}"),
        ("under {v}",),
    ),
    ">=": Forms(
        (
            "aged {v} (or over|or older|and over|and up)",
            "{v} (or older|and older|years or older)",
            "of at least {v} years",
        ),
        ("*be {v} or older", "*be at least {v} [years old]"),
        ("{v}+ years",),
    ),
    "<=": Forms(
        ("aged {v} or (younger|under|less)", "{v} or younger", "of at most {v} years"),
        ("*be {v} or younger", "*be at most {v} [years old]"),
        (),
    ),
    "=": Forms(
        ("aged {v}", "who *be {v} [years old]", "of age {v}", "{v} years old", "at the age of {v}"),
        ("*be {v} [years old]", "*be aged {v}"),
        ("{v} years old",),
    ),
}
