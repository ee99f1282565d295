"""Conditions on a value that is missing, or known."""

from relserve.tiny_sql.corpus.conditions.forms import Forms

MISSING = Forms(
    modifiers=(
        "with no {col}",
        "without a {col}",
        "without {col}",
        "without any {col}",
        "whose {col} is <unknown>",
        "whose {col} (is|was) <unknown>",
        "<where> [the] {col} is <unknown>",
        "that have no {col}",
        "that lack a {col}",
        "lacking a {col}",
        "missing a {col}",
        "for which no {col} (is|was) <known>",
        "for which there is no {col}",
        "that do not have a {col}",
        "that don't have a {col}",
        "with (a|an) (missing|unknown|empty|null|blank) {col}",
        "with (missing|unknown|empty|null) {col}",
        "with {col} (missing|null|empty|unknown)",
        "whose {col} (is not|isn't) <known>",
        "where we don't know the {col}",
        "with nothing (in|as|for) [the] {col}",
    ),
    predicates=("*have no {col}", "*lack a {col}", "do not have a {col}", "don't have a {col}", "*be missing a {col}", "*be without a {col}", "*have an (empty|unknown) {col}", "*have no {col} (at all|yet|recorded)", "*miss the {col}"),
    keywords=("no {col}", "without {col}", "{col} is null", "{col} missing", "missing {col}", "{col} empty", "{col} null", "{col} unknown", "empty {col}"),
)
PRESENT = Forms(
    modifiers=(
        "that have a {col}",
        "that do have a {col}",
        "whose {col} is <known>",
        "whose {col} (is not|isn't) <unknown>",
        "<where> [the] {col} is <known>",
        "<where> [the] {col} is not <unknown>",
        "for which a {col} is <known>",
        "with a <known> {col}",
        "with any {col} at all",
        "with a {col} that is <known>",
        "that are not (missing|without|lacking) a {col}",
        "with {col} (present|not null)",
    ),
    predicates=("*have a {col}", "do have a {col}", "*have a <known> {col}", "*have some {col}", "*have any {col} at all", "do not lack a {col}"),
    keywords=("with {col}", "{col} not null", "has {col}", "{col} is not null", "{col} present", "known {col}"),
)
