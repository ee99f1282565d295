"""Conditions on numbers without the column's name: by a verb, an adjective, an age. Slots as in `number`."""

from training.tiny_sql.corpus.conditions.forms import Forms

# {verb} and {verbing} take the value: `weigh more than 5`; {adj} a comparative: `heavier than 5`.
VERBAL = Forms(
    modifiers=(
        "that *{verb} {cmp} {v}",
        "that *{verb} {cmp} {v}",
        "which *{verb} {cmp} {v}",
        "who *{verb} {cmp} {v}",
        "{verbing} {cmp} {v}",
        "{verbing} {cmp} {v}",
    ),
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
    modifiers=(
        "{adj} than {v}",
        "that *be {adj} than {v}",
        "which *be {adj} than {v}",
        "that *be {adj} than {v}",
        "(who|that) *be {adj} than {v}",
    ),
    predicates=("*be {adj} than {v}", "*be {adj} than {v}"),
    keywords=("{adj} than {v}",),
)
AGED = {
    "between": Forms(
        (
            "aged between {v} and {w}",
            "between {v} and {w} years old",
            "aged {v} to {w}",
            "between the ages of {v} and {w}",
            "who *be between {v} and {w} [years old]",
        ),
        ("*be between {v} and {w} [years old]", "*be aged {v} to {w}"),
    ),
    ">": Forms(
        (
            "over {v} years old",
            "over the age of {v}",
            "aged over {v}",
            "above the age of {v}",
            "older than {v} years",
        ),
        ("*be over {v} [years old]", "*be above {v}", "*be past the age of {v}"),
        ("over {v}", "age over {v}"),
    ),
    "<": Forms(
        (
            "under {v} years old",
            "under the age of {v}",
            "aged under {v}",
            "below the age of {v}",
            "younger than {v} years",
        ),
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
