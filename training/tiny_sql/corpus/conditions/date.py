"""Conditions on dates and on years. Slots: {v} and {w} a date or a year, {col} the column, {p} a participle of it (`hired`)."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

IN_YEAR = Forms(
    modifiers=_PHRASES["IN_YEAR modifiers"],
    predicates=_PHRASES["IN_YEAR predicates"],
    keywords=("{col} {v}", "{col} in {v}", "{col} year {v}", "year of {col} {v}", "{col}: {v}"),
)
COMPARED = {
    ">": Forms(
        modifiers=_PHRASES["COMPARED > modifiers"],
        predicates=_PHRASES["COMPARED > predicates"],
        keywords=("{col} after {v}", "{col} > {v}", "{col} later than {v}"),
    ),
    "<": Forms(
        modifiers=_PHRASES["COMPARED < modifiers"],
        predicates=_PHRASES["COMPARED < predicates"],
        keywords=("{col} before {v}", "{col} < {v}", "{col} earlier than {v}"),
    ),
    ">=": Forms(
        modifiers=_PHRASES["COMPARED >= modifiers"],
        predicates=("*have a {col} (since|on or after|no earlier than) {v}", "*have a {col} of {v} or later"),
        keywords=("{col} since {v}", "{col} >= {v}", "{col} from {v}", "{col} {v} or later"),
    ),
    "<=": Forms(
        modifiers=_PHRASES["COMPARED <= modifiers"],
        predicates=(
            "*have a {col} (until|on or before|no later than) {v}",
            "*have a {col} of {v} or earlier",
        ),
        keywords=("{col} until {v}", "{col} <= {v}", "{col} up to {v}", "{col} {v} or earlier"),
    ),
    "=": Forms(
        modifiers=_PHRASES["COMPARED = modifiers"],
        predicates=_PHRASES["COMPARED = predicates"],
        keywords=("{col} {v}", "{col} = {v}", "{col}: {v}", "{col} on {v}"),
    ),
}
BETWEEN = Forms(
    modifiers=_PHRASES["BETWEEN modifiers"],
    predicates=_PHRASES["BETWEEN predicates"],
    keywords=("{col} {v} to {w}", "{col} between {v} and {w}", "{col} from {v} to {w}", "{col} {v}-{w}"),
)
# With a participle, or with nothing where the table has one date only: {p} may be empty.
EVENT = {
    "in": Forms(
        modifiers=_PHRASES["EVENT in modifiers"],
        predicates=_PHRASES["EVENT in predicates"],
        keywords=("{p} {v}", "{p} in {v}"),
    ),
    ">": Forms(
        modifiers=_PHRASES["EVENT > modifiers"],
        predicates=_PHRASES["EVENT > predicates"],
        keywords=("{p} after {v}", "{p} > {v}"),
    ),
    "<": Forms(
        modifiers=_PHRASES["EVENT < modifiers"],
        predicates=_PHRASES["EVENT < predicates"],
        keywords=("{p} before {v}", "{p} < {v}"),
    ),
    ">=": Forms(
        modifiers=_PHRASES["EVENT >= modifiers"],
        predicates=("were {p} since {v}", "*have been {p} since {v}", "were {p} in {v} or later"),
        keywords=("{p} since {v}",),
    ),
    "<=": Forms(
        modifiers=_PHRASES["EVENT <= modifiers"],
        predicates=("were {p} (until|up to|no later than) {v}", "were {p} in {v} or earlier"),
        keywords=("{p} until {v}",),
    ),
    "=": Forms(
        modifiers=("{p} on {v}", "that were {p} on {v}", "who were {p} on {v}", "which were {p} on {v}"),
        predicates=("were {p} on {v}", "*be {p} on {v}", "got {p} on {v}"),
        keywords=("{p} {v}", "{p} on {v}"),
    ),
    "between": Forms(
        modifiers=_PHRASES["EVENT between modifiers"],
        predicates=_PHRASES["EVENT between predicates"],
        keywords=("{p} {v} to {w}", "{p} between {v} and {w}"),
    ),
}
# With a verb in the past: {p} is `joined`.
DEED = {
    sign: Forms(
        modifiers=tuple(
            f"{who} {{p}} {time}"
            for time in times
            for who in ("that", "who", "which", "(that|who) have", "having")
        ),
        predicates=tuple(f"{{p}} {time}" for time in times),
        keywords=tuple(f"{{p}} {time}" for time in times),
    )
    for sign, times in {
        "in": ("in {v}", "in [the year] {v}", "during {v}"),
        ">": ("after {v}", "(after|later than) {v}"),
        "<": ("before {v}", "(before|prior to|earlier than) {v}"),
        ">=": ("since {v}", "in {v} or later", "(on or after|no earlier than) {v}"),
        "<=": ("until {v}", "(by|no later than|on or before) {v}"),
        "=": ("on {v}",),
        "between": ("between {v} and {w}", "from {v} to {w}"),
    }.items()
}
# Of the table's only date or year, without its name.
ONLY = {
    "in": Forms(
        _PHRASES["ONLY in 1"],
        ("*be from {v}", "*be from [the year] {v}", "*date from {v}", "came out in {v}"),
        ("{v}", "{v}", "from {v}"),
        ("{v}",),
    ),
    ">": Forms(
        ("after {v}", "from after {v}", "newer than {v}", "later than {v}", "more recent than {v}"),
        ("*be newer than {v}", "*be from after {v}", "came out after {v}", "*come after {v}"),
        ("after {v}", "> {v}"),
    ),
    "<": Forms(
        ("before {v}", "from before {v}", "older than {v}", "earlier than {v}", "prior to {v}"),
        ("*be older than {v}", "*be from before {v}", "came out before {v}", "*come before {v}"),
        ("before {v}", "< {v}"),
    ),
    ">=": Forms(
        ("since {v}", "from {v} or later", "from {v} on[wards]", "not older than {v}"),
        ("*be from {v} or later", "came out in {v} or later"),
        ("since {v}", "from {v} on"),
    ),
    "<=": Forms(
        ("until {v}", "up to {v}", "from {v} or earlier", "not newer than {v}"),
        ("*be from {v} or earlier", "came out in {v} or earlier"),
        ("until {v}", "up to {v}"),
    ),
    "between": Forms(
        ("between {v} and {w}", "from {v} to {w}", "from between {v} and {w}", "from the years {v} to {w}"),
        ("*be from between {v} and {w}", "came out between {v} and {w}", "*be from {v} to {w}"),
        ("{v}-{w}", "{v} to {w}", "between {v} and {w}"),
    ),
}
