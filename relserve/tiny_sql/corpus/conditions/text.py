"""Conditions on texts. Slots: {v} and {w} the values, {col} and {cols} the column."""

from relserve.tiny_sql.corpus.conditions.forms import Forms

EQUAL = Forms(
    modifiers=(
        "whose {col} is {v}",
        "whose {col} (is|equals|was|reads|is set to|happens to be|is called) {v}",
        "with {col} {v}",
        "with [the|a] {col} {v}",
        "with a {col} of {v}",
        "with {v} as [the|their|its] {col}",
        "with {col} (=|equal to|set to|being|of) {v}",
        "<where> [the|their] {col} (is|=|equals|was) {v}",
        "where {col} (is|=|equals) {v}",
        "that *have [the|a] {col} {v}",
        "that *have {v} as [the|their] {col}",
        "which *have {col} {v}",
        "having [the] {col} {v}",
        "having {v} as [the] {col}",
        "of [the] {col} {v}",
        "of [the] {v} {col}",
        "in [the] {col} {v}",
        "in the {v} {col}",
        "from [the] {col} {v}",
        "from the {v} {col}",
        "for [the] {col} {v}",
        "under [the] {col} {v}",
        "(belonging to|that belong to|assigned to|in) the {col} {v}",
        "belonging to the {v} {col}",
        "if [the] {col} is {v}",
        "that *be {v} by {col}",
    ),
    predicates=(
        "*have the {col} {v}",
        "*have {col} {v}",
        "*have a {col} of {v}",
        "*have {v} as [the|their] {col}",
        "*have {v} for [a|their] {col}",
        "*have a {col} (equal to|that is|that equals) {v}",
        "*be of [the] {col} {v}",
        "*be in [the] {col} {v}",
        "*be in the {v} {col}",
        "*be from [the] {col} {v}",
        "*belong to [the] {col} {v}",
        "*belong to the {v} {col}",
        "(*use|*show|*list|*carry) {v} as [the|their] {col}",
    ),
    keywords=("{col} {v}", "{col} = {v}", "{col}: {v}", "{col}={v}", "{col} is {v}", "{v} {col}", "{col} equals {v}"),
)
# Without the column's name: only where the value occurs in this column alone.
BARE = Forms(
    modifiers=("of {v}", "with {v}", "for {v}", "that *be {v}", "which *be {v}", "({v})", "in {v}", "from {v}", "by {v}", "of type {v}", "classified as {v}", "marked [as] {v}", "labelled {v}"),
    predicates=("*be {v}", "*be {v}", "*have {v}", "*be of type {v}", "*be classified as {v}", "*be marked [as] {v}"),
    keywords=("{v}", "{v}"),
    premodifiers=("{v}", "{v}", "{v}"),
)
PLACE = Forms(
    modifiers=(
        "in {v}",
        "from {v}",
        "from {v}",
        "in {v}",
        "(located|based|situated|living|sitting) in {v}",
        "that *be (in|from|located in|based in|found in) {v}",
        "who *live in {v}",
        "that *come from {v}",
        "coming from {v}",
        "that *live in {v}",
        "of {v}",
        "(out of|around|within) {v}",
    ),
    predicates=("*be (in|from) {v}", "*be (located|based|situated|found) in {v}", "*live in {v}", "*come from {v}", "*originate from {v}", "*reside in {v}"),
    keywords=("{v}", "in {v}", "from {v}"),
    premodifiers=("{v}",),
)
MEMBER = Forms(
    modifiers=("in {v}", "from {v}", "at {v}", "of {v}", "who *work in {v}", "that *work (in|for|at) {v}", "working (in|for|at) {v}", "that *belong to {v}", "belonging to {v}", "who *be in {v}"),
    predicates=("*be in {v}", "*work (in|for|at) {v}", "*belong to {v}", "*be (part|members) of {v}"),
    keywords=("{v}", "in {v}", "from {v}"),
    premodifiers=("{v}",),
)
# {done} and {doing} of the lexicon: `directed by Nolan`, `that Nolan directed`.
MADE_BY = Forms(
    modifiers=("{done} by {v}", "{done} by {v}", "by {v}", "that were {done} by {v}", "which *be {done} by {v}", "{v} {did}", "that {v} {did}", "from {v}", "of {v}", "(having been|that have been) {done} by {v}"),
    predicates=("*be {done} by {v}", "*be by {v}", "were {done} by {v}", "*have been {done} by {v}", "did {v} ({did}|make)"),
    keywords=("by {v}", "{v}", "{done} by {v}"),
    premodifiers=("{v}",),
)
NOT_EQUAL = Forms(
    modifiers=(
        "whose {col} (is not|isn't|was not|is anything but|differs from|is different from|is other than|does not equal) {v}",
        "with a {col} (other than|different from|that is not|not equal to) {v}",
        "with any {col} (except|but|other than) {v}",
        "<where> [the] {col} (is not|isn't|!=|<>|is anything but|differs from) {v}",
        "that do not have [the] {col} {v}",
        "that don't have [the] {col} {v}",
        "not (of|in|from|with) [the] {col} {v}",
        "without [the] {col} {v}",
        "outside [of] [the] {col} {v}",
        "that *be not (in|of|from) the {col} {v}",
        "except [for] those (with|of|from) {col} {v}",
        "with {col} (not|!=|<>) {v}",
    ),
    predicates=(
        "do not have [the] {col} {v}",
        "don't have [the] {col} {v}",
        "*have a {col} (other than|different from|that is not) {v}",
        "*have any {col} (but|except) {v}",
        "*be not (of|in|from) [the] {col} {v}",
        "do not belong to [the] {col} {v}",
        "do not have {v} as [their] {col}",
    ),
    keywords=("{col} != {v}", "{col} not {v}", "{col} is not {v}", "not {col} {v}", "{col} <> {v}", "all but {col} {v}"),
)
NOT_BARE = Forms(
    modifiers=("that *be not (in|from|by|) {v}", "which *be not {v}", "not (from|in|by) {v}", "that aren't {v}", "other than {v}", "except {v}", "outside [of] {v}", "excluding {v}"),
    predicates=("*be not {v}", "*be not (from|in|by) {v}", "are not {v}", "aren't {v}"),
    keywords=("not {v}", "except {v}", "-{v}", "no {v}"),
    premodifiers=("non-{v}", "non {v}"),
)
EITHER = Forms(
    modifiers=(
        "whose {col} is {v} or {w}",
        "whose {col} is either {v} or {w}",
        "with {col} {v} or {w}",
        "with [the|a] {col} (of|) either {v} or {w}",
        "with {col} in ({v}, {w})",
        "<where> [the] {col} is [either] {v} or {w}",
        "of {col} {v} or {w}",
        "that *have {col} {v} or {w}",
        "in [the] {col} {v} or {w}",
        "from [the] {col} {v} or {w}",
        "whose {col} is one of {v} and {w}",
        "whose {col} is among {v} and {w}",
        "having {v} or {w} as [the] {col}",
    ),
    predicates=("*have {col} {v} or {w}", "*have the {col} {v} or {w}", "*have either {v} or {w} as [their] {col}", "*be of {col} {v} or {w}", "*have a {col} of [either] {v} or {w}", "*be in [the] {col} {v} or {w}"),
    keywords=("{col} {v} or {w}", "{col} in ({v}, {w})", "{col} = {v} or {w}", "{col} {v}/{w}", "{col}: {v} or {w}", "{col} {v} | {w}"),
)
EITHER_BARE = Forms(
    modifiers=("(from|in|of|by|with) {v} or {w}", "(from|in|of) either {v} or {w}", "that *be [either] {v} or {w}", "from {v} and from {w}", "that *be (from|in) {v} or {w}"),
    predicates=("*be {v} or {w}", "*be either {v} or {w}", "*be (from|in|by) {v} or {w}"),
    keywords=("{v} or {w}", "{v}/{w}"),
    premodifiers=("{v} or {w}", "{v} and {w}"),
)
CONTAINS = Forms(
    modifiers=(
        "whose {col} (contains|includes|mentions|has|features) {v}",
        "whose {col} contains [the word|the text|the string|the term] {v}",
        "with {v} in [the|their|its] {col}",
        "with {v} (somewhere|anywhere) in [the|their] {col}",
        "with the (word|text|term|string) {v} in [the|their] {col}",
        "with a {col} (containing|that contains|including|mentioning|like|that mentions|that includes) {v}",
        "<where> [the] {col} (contains|includes|mentions|is like|like|has) {v}",
        "that (mention|contain|include|have|use) {v} in [the|their] {col}",
        "that have the word {v} in [the|their] {col}",
        "(containing|mentioning|including|having) {v} in [the|their] {col}",
        "in whose {col} {v} (appears|occurs|is mentioned)",
        "with {col} (like|containing|including) {v}",
        "having {v} [somewhere] in [the|their] {col}",
        "which have {v} as part of [the|their] {col}",
        "whose {col} has {v} in it",
        "<where> {v} (appears|occurs|is) in [the] {col}",
    ),
    predicates=(
        "*have {v} in [the|their] {col}",
        "(*contain|*include|*mention|*use) {v} in [the|their] {col}",
        "*have a {col} (containing|that contains|that mentions|including|like|with) {v}",
        "*have the (word|text|term) {v} in [the|their] {col}",
        "*have {v} (somewhere|anywhere) in [the|their] {col}",
        "*have {v} as part of [the|their] {col}",
        "*mention {v} in [the|their] {col}",
    ),
    keywords=("{col} contains {v}", "{col} like {v}", "{col} containing {v}", "{v} in {col}", "{col} includes {v}"),
)
# Of the column that names a row.
NAMED = Forms(
    modifiers=("(called|named) {v}", "by the name [of] {v}", "that *be called {v}", "with the name {v}", "named {v}"),
    predicates=("*be called {v}", "*be named {v}", "*go by the name [of] {v}"),
    keywords=("{v}", "named {v}"),
)
