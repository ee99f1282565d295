"""Conditions on what is true or false. Slots: {p} the column as an adjective or participle, {col} its name."""

from training.tiny_sql.corpus.conditions.forms import Forms

TRUE = Forms(
    modifiers=(
        "that *be {p}",
        "that *be {p}",
        "which *be {p}",
        "who *be {p}",
        "(marked|flagged|listed|tagged|classified) as {p}",
        "known to be {p}",
        "that *be (currently|already|actually) {p}",
        "that *have been (marked|flagged) [as] {p}",
        "<where> {p} is (true|yes|set)",
        "with {p} (=|set to|equal to) true",
        "whose {p} (flag|value) is (true|set)",
        "that are indeed {p}",
    ),
    predicates=(
        "*be {p}",
        "*be {p}",
        "*be {p}",
        "*be (marked|flagged|listed) as {p}",
        "*be known to be {p}",
        "*have been {p}",
        "*be (currently|already) {p}",
    ),
    keywords=("{p}", "{p} = true", "{p}: yes", "{p} only", "only {p}", "{p} true"),
    premodifiers=("{p}", "{p}", "{p}", "{p}"),
)
FALSE = Forms(
    modifiers=(
        "that *be not {p}",
        "that *be not {p}",
        "which *be not {p}",
        "who *be not {p}",
        "that *be not [yet|currently] {p}",
        "that (aren't|are not) {p}",
        "not (marked|flagged|listed) as {p}",
        "that are anything but {p}",
        "<where> {p} is (false|no|not set)",
        "with {p} (=|set to|equal to) false",
        "whose {p} (flag|value) is (false|not set)",
        "that have not been {p}",
        "that haven't been {p}",
        "not {p}",
    ),
    predicates=(
        "*be not {p}",
        "*be not {p}",
        "aren't {p}",
        "*be not [yet|currently] {p}",
        "*have not been {p}",
        "haven't been {p}",
        "*be not (marked|flagged) as {p}",
    ),
    keywords=("not {p}", "{p} = false", "{p}: no", "non {p}", "{p} false"),
    premodifiers=("non-{p}", "non {p}", "not {p}", "un-{p}"),
)
