"""Conditions on numbers. Slots: {cmp} the comparison, {v} and {w} the values, {col} and {cols} the column."""

from training.tiny_sql.corpus.conditions.forms import Forms

# For > < >= <=, whose comparison is a class of words.
COMPARED = Forms(
    modifiers=(
        "with a {col} {cmp} {v}",
        "with a {col} of {cmp} {v}",
        "with {col} {cmp} {v}",
        "with a {col} that *be {cmp} {v}",
        "with {their} {col} {cmp} {v}",
        "whose {col} (is|was|lies|stays) {cmp} {v}",
        "whose {col} is {cmp} {v}",
        "whose {col} equals {cmp} {v}",
        "(having|showing|featuring) a {col} {cmp} {v}",
        "having {col} {cmp} {v}",
        "that *have a {col} {cmp} {v}",
        "that *have a {col} of {cmp} {v}",
        "which *have a {col} {cmp} {v}",
        "<where> [the] {col} is {cmp} {v}",
        "where [the] {col} {cmp} {v}",
        "{cmp} {v} in {col}",
        "at a {col} {cmp} {v}",
        "of {col} {cmp} {v}",
        "(for|at|of|with) {cmp} {v} {col}",
        "if [the] {col} is {cmp} {v}",
    ),
    predicates=(
        "*have a {col} {cmp} {v}",
        "*have a {col} of {cmp} {v}",
        "*have {col} {cmp} {v}",
        "*have a {col} that is {cmp} {v}",
        "*be {cmp} {v} in {col}",
        "(*show|*get|*reach|*possess) a {col} {cmp} {v}",
        "*have {cmp} {v} {col}",
        "*have {cmp} {v} as [the|their] {col}",
        "*have their {col} {cmp} {v}",
    ),
    keywords=("{col} {cmp} {v}", "{col} {cmp} {v}", "{cmp} {v} {col}", "{col}: {cmp} {v}"),
)
EXTRA = {
    ">": Forms(
        modifiers=(
            "whose {col} (exceeds|surpasses|tops|passes|goes over|goes beyond|is beyond|is past) {v}",
            "<where> the {col} (exceeds|surpasses|tops|is bigger than) {v}",
            "with a {col} (exceeding|surpassing|topping|bigger than|larger than) {v}",
            "with {col} > {v}",
            "with {col} (bigger|larger|higher|greater) than {v}",
            "(exceeding|surpassing) {v} in {col}",
            "(exceeding|surpassing) a {col} of {v}",
        ),
        predicates=(
            "(*exceed|*surpass|*top|*pass) {v} in {col}",
            "(*exceed|*surpass) a {col} of {v}",
            "*have a {col} (exceeding|surpassing|topping) {v}",
            "*go (beyond|over|above) {v} in {col}",
            "*have {col} > {v}",
        ),
        keywords=("{col} > {v}", "{col}>{v}", "{col} > {v}"),
    ),
    "<": Forms(
        modifiers=(
            "whose {col} (falls below|stays under|stays below|does not reach|doesn't reach|falls short of|is short of) {v}",
            "<where> the {col} (falls below|stays under|does not reach) {v}",
            "with {col} < {v}",
            "with a {col} (not reaching|smaller than|staying below) {v}",
        ),
        predicates=(
            "(*stay|*fall|*remain) (below|under) {v} in {col}",
            "*have a {col} that does not reach {v}",
            "do not reach {v} in {col}",
            "do not reach a {col} of {v}",
            "*have {col} < {v}",
        ),
        keywords=("{col} < {v}", "{col}<{v}", "{col} < {v}"),
    ),
    ">=": Forms(
        modifiers=(
            "with a {col} of {v} (or more|or higher|or above|or better|and up|and above|and higher|upwards)",
            "with {v} or more in {col}",
            "whose {col} is {v} (or more|or higher|or above|and up|or greater)",
            "with {col} >= {v}",
            "with a minimum {col} of {v}",
            "whose {col} (reaches|is no lower than|is not below|is not less than|isn't below|is greater than or equal to) {v}",
            "that *have a {col} of {v} or (more|higher)",
            "from {v} {col} (up|upwards)",
        ),
        predicates=(
            "*have a {col} of {v} (or more|or higher|or above|and up)",
            "*have {col} of {v} or more",
            "*reach a {col} of {v}",
            "*have a minimum {col} of {v}",
            "do not have a {col} (below|under|less than) {v}",
        ),
        keywords=(
            "{col} >= {v}",
            "{col} {v}+",
            "{col} {v} or (more|higher)",
            "min {col} {v}",
            "minimum {col} {v}",
        ),
    ),
    "<=": Forms(
        modifiers=(
            "with a {col} of {v} (or less|or lower|or below|or under|and below|and less|or fewer)",
            "with {v} or less in {col}",
            "whose {col} is {v} (or less|or lower|or below|or smaller)",
            "with {col} <= {v}",
            "with a maximum {col} of {v}",
            "whose {col} (does not exceed|doesn't exceed|is no higher than|is not above|isn't above|is less than or equal to) {v}",
            "that *have a {col} of {v} or (less|lower)",
        ),
        predicates=(
            "*have a {col} of {v} (or less|or lower|or below)",
            "*have {col} of {v} or less",
            "do not exceed a {col} of {v}",
            "do not exceed {v} in {col}",
            "*have a maximum {col} of {v}",
            "do not have a {col} (above|over|exceeding|more than) {v}",
        ),
        keywords=(
            "{col} <= {v}",
            "{col} {v} or (less|lower)",
            "max {col} {v}",
            "maximum {col} {v}",
            "{col} up to {v}",
        ),
    ),
}
EQUAL = Forms(
    modifiers=(
        "with a {col} of {v}",
        "with a {col} of <exactly> {v}",
        "with {col} {v}",
        "with {v} as [the] {col}",
        "with {col} (=|equal to|of) {v}",
        "with the {col} {v}",
        "whose {col} (is|equals|was|is equal to|is exactly|amounts to|is set to) {v}",
        "whose {col} is {v}",
        "<where> [the] {col} (is|equals|=|is equal to) {v}",
        "(having|showing) a {col} (of|equal to) {v}",
        "that *have a {col} of {v}",
        "that *have {col} {v}",
        "at a {col} of {v}",
        "of {col} {v}",
    ),
    predicates=(
        "*have a {col} of {v}",
        "*have a {col} of <exactly> {v}",
        "*have a {col} (equal to|that is|that equals|of) {v}",
        "*have {col} {v}",
        "*have the {col} {v}",
        "*have {v} as [their] {col}",
        "*be at {v} {col}",
    ),
    keywords=("{col} {v}", "{col} = {v}", "{col}={v}", "{col}: {v}", "{col} is {v}", "{col} equals {v}"),
)
NOT_EQUAL = Forms(
    modifiers=(
        "whose {col} (is not|isn't|is anything but|differs from|is different from|is other than|does not equal) {v}",
        "with a {col} (other than|different from|not equal to) {v}",
        "<where> the {col} (is not|isn't|!=|<>|differs from) {v}",
        "with {col} != {v}",
        "that do not have a {col} of {v}",
    ),
    predicates=(
        "do not have a {col} of {v}",
        "don't have a {col} of {v}",
        "*have a {col} (other than|different from) {v}",
    ),
    keywords=("{col} != {v}", "{col} not {v}", "{col} <> {v}", "not {col} {v}"),
)
BETWEEN = Forms(
    modifiers=(
        "with a {col} between {v} and {w}",
        "with a {col} (of|from|ranging from) {v} to {w}",
        "with {col} (between|somewhere between) {v} and {w}",
        "with {col} from {v} (to|up to|through) {w}",
        "whose {col} (is|lies|falls|ranges|was|is somewhere|is anywhere) between {v} and {w}",
        "whose {col} is (from|in the range|within the range) {v} to {w}",
        "<where> the {col} (is|lies|falls) between {v} and {w}",
        "(having|showing) a {col} between {v} and {w}",
        "that *have a {col} (between|from) {v} and {w}",
        "with a {col} (in the range|in the range of|within|within the range) {v} to {w}",
        "between {v} and {w} in {col}",
        "with a {col} of at least {v} and at most {w}",
        "whose {col} is at least {v} (and|but) at most {w}",
        "with {col} {v} - {w}",
    ),
    predicates=(
        "*have a {col} between {v} and {w}",
        "*have a {col} (from|of|ranging from) {v} to {w}",
        "*have {col} between {v} and {w}",
        "*be between {v} and {w} in {col}",
        "*have between {v} and {w} {col}",
        "*have a {col} that (lies|falls|is) between {v} and {w}",
        "*have a {col} in the range [of|from] {v} to {w}",
    ),
    keywords=(
        "{col} {v} to {w}",
        "{col} between {v} and {w}",
        "{col} {v}-{w}",
        "{col} from {v} to {w}",
        "{col}: {v} to {w}",
    ),
)
# Things that are counted: `with more than 5 seats`; {mcmp} the comparison of counts.
COUNTED = Forms(
    modifiers=(
        "with {mcmp} {v} {cols}",
        "that *have {mcmp} {v} {cols}",
        "which *have {mcmp} {v} {cols}",
        "having {mcmp} {v} {cols}",
        "of {mcmp} {v} {cols}",
        "whose number of {cols} is {mcmp} {v}",
        "with a number of {cols} {cmp} {v}",
    ),
    predicates=(
        "*have {mcmp} {v} {cols}",
        "*have {mcmp} {v} {cols}",
        "*have a number of {cols} {cmp} {v}",
        "(*get|*count|*offer|*possess|*come with) {mcmp} {v} {cols}",
    ),
    keywords=("{mcmp} {v} {cols}",),
)
COUNTED_EQUAL = Forms(
    modifiers=(
        "with {v} {cols}",
        "with <exactly> {v} {cols}",
        "that *have [<exactly>] {v} {cols}",
        "having {v} {cols}",
        "of {v} {cols}",
    ),
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
    modifiers=(
        "with a {col} <gt> {v} (and|but) <lt> {w}",
        "with {col} <gt> {v} (and|but) <lt> {w}",
        "whose {col} is <gt> {v} (and|but) <lt> {w}",
        "with a {col} (higher|larger|greater) than {v} (and|but) (lower|smaller|less) than {w}",
        "<where> the {col} is <gt> {v} (and|but) <lt> {w}",
        "that *have a {col} <gt> {v} (and|but) <lt> {w}",
        "with <gt> {v} but <lt> {w} {cols}",
    ),
    predicates=(
        "*have a {col} <gt> {v} (and|but) <lt> {w}",
        "*have <gt> {v} but <lt> {w} {cols}",
        "*have a {col} that is <gt> {v} (and|but) <lt> {w}",
    ),
    keywords=("{col} > {v} and < {w}", "{v} < {col} < {w}", "{col} <gt> {v} <lt> {w}"),
)
