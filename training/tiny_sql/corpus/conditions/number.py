"""Conditions on numbers. Slots: {cmp} the comparison, {v} and {w} the values, {col} and {cols} the column."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

# For > < >= <=, whose comparison is a class of words.
COMPARED = Forms(
    modifiers=_PHRASES["COMPARED modifiers"],
    predicates=_PHRASES["COMPARED predicates"],
    keywords=("{col} {cmp} {v}", "{col} {cmp} {v}", "{cmp} {v} {col}", "{col}: {cmp} {v}"),
)
EXTRA = {
    ">": Forms(
        modifiers=_PHRASES["EXTRA > modifiers"],
        predicates=_PHRASES["EXTRA > predicates"],
        keywords=("{col} > {v}", "{col}>{v}", "{col} > {v}"),
    ),
    "<": Forms(
        modifiers=_PHRASES["EXTRA < modifiers"],
        predicates=_PHRASES["EXTRA < predicates"],
        keywords=("{col} < {v}", "{col}<{v}", "{col} < {v}"),
    ),
    ">=": Forms(
        modifiers=_PHRASES["EXTRA >= modifiers"],
        predicates=_PHRASES["EXTRA >= predicates"],
        keywords=_PHRASES["EXTRA >= keywords"],
    ),
    "<=": Forms(
        modifiers=_PHRASES["EXTRA <= modifiers"],
        predicates=_PHRASES["EXTRA <= predicates"],
        keywords=_PHRASES["EXTRA <= keywords"],
    ),
}
EQUAL = Forms(
    modifiers=_PHRASES["EQUAL modifiers"],
    predicates=_PHRASES["EQUAL predicates"],
    keywords=("{col} {v}", "{col} = {v}", "{col}={v}", "{col}: {v}", "{col} is {v}", "{col} equals {v}"),
)
NOT_EQUAL = Forms(
    modifiers=_PHRASES["NOT_EQUAL modifiers"],
    predicates=(
        "do not have a {col} of {v}",
        "don't have a {col} of {v}",
        "*have a {col} (other than|different from) {v}",
    ),
    keywords=("{col} != {v}", "{col} not {v}", "{col} <> {v}", "not {col} {v}"),
)
BETWEEN = Forms(
    modifiers=_PHRASES["BETWEEN modifiers"],
    predicates=_PHRASES["BETWEEN predicates"],
    keywords=_PHRASES["BETWEEN keywords"],
)
# Things that are counted: `with more than 5 seats`; {mcmp} the comparison of counts.
COUNTED = Forms(
    modifiers=_PHRASES["COUNTED modifiers"],
    predicates=_PHRASES["COUNTED predicates"],
    keywords=("{mcmp} {v} {cols}",),
)
COUNTED_EQUAL = Forms(
    modifiers=_PHRASES["COUNTED_EQUAL modifiers"],
    predicates=(
        "*have {v} {cols}",
        "*have <exactly> {v} {cols}",
        "(*count|*offer|*come with|*get) {v} {cols}",
    ),
    keywords=("{v} {cols}", "{v} {unit}"),
    premodifiers=("{v}-{unit}", "{v} {unit}"),
)
COUNTED_MORE = {
    ">=": Forms(
        modifiers=("with {v} (or more|or above) {cols}", "with {v}+ {cols}", "with {v} {cols} or more"),
        predicates=("*have {v} or more {cols}", "*have {v} {cols} or more"),
    ),
    "<=": Forms(
        modifiers=("with {v} or (fewer|less) {cols}", "with {v} {cols} or (fewer|less)"),
        predicates=("*have {v} or (fewer|less) {cols}", "*have {v} {cols} or (fewer|less)"),
    ),
    ">": Forms((), ()),
    "<": Forms((), ()),
}
# Two comparisons of one column: above {v}, below {w}.
ABOVE_AND_BELOW = Forms(
    modifiers=_PHRASES["ABOVE_AND_BELOW modifiers"],
    predicates=(
        "*have a {col} <gt> {v} (and|but) <lt> {w}",
        "*have <gt> {v} but <lt> {w} {cols}",
        "*have a {col} that is <gt> {v} (and|but) <lt> {w}",
    ),
    keywords=("{col} > {v} and < {w}", "{v} < {col} < {w}", "{col} <gt> {v} <lt> {w}"),
)
