"""Frames for the first rows of an order.

Slots: {np} one row as a noun phrase (`oldest student`, `film with the highest rating`), {nps} several (`5 oldest students`),
{np_does} its clause after `which`, {cols} the columns asked for; {sup} a superlative, {c} the column, {row}, {rows} as in `rows`.
"""

# One row by a superlative adjective, or by a column.
BY_ADJECTIVE = ("{sup} {row}", "{sup} {row}", "{sup} one (among|of) [the|all] {rows}")
BY_COLUMN = (
    "{row} with the {best} {c}",
    "{row} with the {best} {c}",
    "{row} (that has|having|which has|of) the {best} {c}",
    "{row} whose {c} is [the] {best}",
    "{row} that has [the] {best} {c}",
    "{best} {c} {row}",
)
MANY_BY_ADJECTIVE = (
    "{k} {sup} {rows} by {c}",
    "{k} {sup} {rows}",
    "{k} {sup} {rows}",
    "{sup} {k} {rows}",
    "top {k} {sup} {rows}",
    "top {k} {sup} {rows}",
)
MANY_BY_DATE = (
    "{k} {rows} with the {best} {c}",
    "{k} {rows} with the {best} {c}",
    "{k} {rows} (having|that have) the {best} {c}",
    "{k} {best} {rows} by {c}",
    "{best} {k} {rows} by {c}",
    "{k} {rows} with {best} {c}",
    "first {k} {rows} when (sorted|ordered) by {c} {direction}",
    "{k} {rows} whose {c} is [the] {best}",
)
MANY_BY_COLUMN = (
    "top {k} {rows} with the {best} {c}",
    "{k} {rows} whose {c} is [the] {best}",
    "{k} {rows} with the {best} {c}",
    "{k} {rows} with the {best} {c}",
    "{k} {rows} (having|that have) the {best} {c}",
    "{end} {k} {rows} by {c}",
    "{end} {k} {rows} by {c}",
    "{end} {k} {rows} (in terms of|according to|in|ranked by|sorted by|based on) {c}",
    "{end} {k} {rows} with the {best} {c}",
    "{k} {best} {c} {rows}",
    "{k} {rows} of [the] {best} {c}",
    "{k} {rows} (ranked|rated) {rank} by {c}",
    "first {k} {rows} when (sorted|ordered|ranked) by {c} {direction}",
    "{k} {rows} at the {end} of the list by {c}",
)
ROW = (
    "<show> the {np}",
    "<show> the {np}",
    "<show> [me] the {np}",
    "<show> everything about the {np}",
    "<show> (the|all) (details|data|record|row|information) (of|for|on|about) the {np}",
    "the {np}",
    "{np}",
    "{np}",
    "<search> the {np}",
    "I (want|need|would like) [to see] the {np}",
    "(can|could) you (show|find|give) [me] the {np}?",
    "let me see the {np}",
    "<show> [me] the single {np}",
)
ROW_WHICH = (
    "<what> is the {np}?",
    "<what> is the {np}",
    "what's the {np}?",
    "which one is the {np}?",
    "<what> {row} {is_best}?",
    "<what> {row} {is_best}?",
    "<what> {row} {is_best}",
    "which of the {rows} {is_best}?",
    "which of (all|all the|our) {rows} {is_best}?",
    "(tell me|do you know|I want to know|I'd like to know) which {row} {is_best}",
    "(tell me|do you know) what the {np} is",
    "among [all] [the] {rows}, which [one] {is_best}?",
    "of [all] [the] {rows}, which [one] {is_best}?",
    "(name|what is the name of|tell me the name of) the {np}",
    "what is the {np} called?",
)
ROW_WHO = (
    "who is the {np}?",
    "who's the {np}?",
    "who is the {np}",
    "who {is_best}?",
    "who among the {rows} {is_best}?",
    "who of [all] [the] {rows} {is_best}?",
    "(tell me|do you know) who {is_best}",
    "who {is_best} (among|of) [all] [the] {rows}?",
)
IS_BEST_DATE = ("has the {best} {c}", "has the {best} {c}", "comes with the {best} {c}")
IS_BEST_COLUMN = (
    "has the {best} {c}",
    "has the {best} {c}",
    "(shows|gets|reaches|comes with) the {best} {c}",
    "(leads|is first|is top|ranks first) by {c}",
)
IS_WORST_COLUMN = (
    "has the {best} {c}",
    "has the {best} {c}",
    "(shows|gets|comes with) the {best} {c}",
    "(is last|ranks last) by {c}",
)
IS_BEST_ADJECTIVE = ("is [the] {sup}", "is the {sup} [one]", "is the {sup}")
COLUMNS_OF_ROW = (
    "what is the {cols} of the {np}?",
    "what is the {cols} of the {np}?",
    "what's the {cols} of the {np}?",
    "<what> {cols} does the {np} have?",
    "<ask> the {cols} of the {np}",
    "<ask> the {cols} of the {np}",
    "<show> the {cols} of the {np}",
    "<show> the {cols} (for|belonging to) the {np}",
    "<show> [only] the {cols} of the {np}",
    "{cols} of the {np}",
    "{cols} of {np}",
    "the {cols} of the {np}",
    "{cols} for the {np}",
    "{np} {cols}",
    "{np}: {cols}",
    "the {np}: what is its {cols}?",
    "the {np} has (what|which) {cols}?",
    "for the {np}, <show> the {cols}",
    "for the {np}, what is the {cols}?",
    "(find|take|look up) the {np} and <show> (its|their|the) {cols}",
    "the {np}'s {cols}",
    "what is the {np}'s {cols}?",
    "(I want|I need) to know the {cols} of the {np}",
    "(tell me|do you know) what {cols} the {np} has",
    "of the {np}, <show> the {cols}",
)
ROWS = (
    "<show> the {nps}",
    "<show> the {nps}",
    "<show> {nps}",
    "<show> [a list of] the {nps}",
    "<show> everything about the {nps}",
    "<show> (the|all) (details|data|records|rows) (of|for|on) the {nps}",
    "the {nps}",
    "{nps}",
    "{nps}",
    "{nps}",
    "<search> the {nps}",
    "I (want|need|would like) [to see] the {nps}",
    "(can|could) you (show|give) me the {nps}?",
    "let me see the {nps}",
    "(rank|sort|order) [the] {rows} by {c} {direction} and <show> the (first|top) {k}",
    "(sort|order) [the] {rows} by {c} {direction}, limit {k}",
    "[the] {rows} (sorted|ordered) by {c} {direction}, (first {k}|only {k}|limit {k}|{k} rows|just the first {k})",
    "<show> [only] the first {k} {rows} (sorted|ordered) by {c} {direction}",
    "<show> [the] {rows} (sorted|ordered) by {c} {direction}, (limit|at most|only) {k}",
)
ROWS_WHICH = (
    "<what> are the {nps}?",
    "<what> are the {nps}?",
    "<what> are the {nps}",
    "which {k} {rows} {have_best}?",
    "which {k} {rows} {have_best}",
    "what {k} {rows} {have_best}?",
    "which {k} of [all] the {rows} {have_best}?",
    "(tell me|do you know|I want to know) what the {nps} are",
    "(tell me|do you know) which {k} {rows} {have_best}",
    "(name|tell me the names of|what are the names of) the {nps}",
)
ROWS_WHO = (
    "who are the {nps}?",
    "who are the {nps}",
    "who are our {nps}?",
    "(tell me|do you know) who the {nps} are",
)
HAVE_BEST_DATE = ("have the {best} {c}", "have the {best} {c}", "come with the {best} {c}")
HAVE_BEST_COLUMN = ("have the {best} {c}", "(show|reach|come with) the {best} {c}", "rank {rank} by {c}")
# Of counted things ({most} {cs}: `the most goals`), and by a verb ({verbs} {most}: `costs the most`).
BY_NUMBER = (
    "{row} with {most} {cs}",
    "{row} with {most} {cs}",
    "{row} (that has|having) {most} {cs}",
    "{row} that (got|counts|shows) {most} {cs}",
)
MANY_BY_NUMBER = (
    "{k} {rows} with {most} {cs}",
    "{k} {rows} with {most} {cs}",
    "{k} {rows} (that have|having) {most} {cs}",
    "{end} {k} {rows} by number of {cs}",
    "{end} {k} {rows} by {cs}",
)
HAS_NUMBER = (
    "has {most} {cs}",
    "has {most} {cs}",
    "(got|counts|shows|gets) {most} {cs}",
    "comes with {most} {cs}",
)
HAVE_NUMBER = ("have {most} {cs}", "(got|count|show|get) {most} {cs}")
BY_VERB = ("{row} that {verbs} {the_most}", "{row} {verbing} {the_most}", "{row} which {verbs} {the_most}")
MANY_BY_VERB = ("{k} {rows} that {verb} {the_most}", "{k} {rows} {verbing} {the_most}")
DOES_BY_VERB = ("{verbs} {the_most}", "{verbs} {the_most}", "{verbs} {the_most} of all")
DO_BY_VERB = ("{verb} {the_most}", "{verb} {the_most}")
HAVE_BEST_ADJECTIVE = ("are [the] {sup}", "are the {sup}")
COLUMNS_OF_ROWS = (
    "what are the {colsmany} of the {nps}?",
    "what (is|are) the {cols} of the {nps}?",
    "<ask> the {cols} of the {nps}",
    "<show> the {cols} of the {nps}",
    "<show> the {colsmany} of the {nps}",
    "<show> [the] {cols} (for|belonging to) the {nps}",
    "{cols} of the {nps}",
    "{colsmany} of the {nps}",
    "{cols} of {nps}",
    "the {cols} of the {nps}",
    "{cols}, {nps}",
    "{nps}: {cols}",
    "{nps} with their {cols}",
    "{nps}, {cols} only",
    "<what> {colsmany} do the {nps} have?",
    "for the {nps}, <show> the {cols}",
    "for the {nps}, display [the|their] {cols}",
    "of the {nps}, <show> the {cols}",
    "(find|take) the {nps} and <show> their {cols}",
    "(sort|order) [the] {rows} by {c} {direction} and <show> the {cols} of the (first|top) {k}",
)
# The whole table in an order.
ORDER = (
    "<show> [all|the|all the|our] {rows}{order}",
    "<show> [all|the|all the|our] {rows}{order}",
    "[all|the] {rows}{order}",
    "{rows}{order}",
    "(sort|order|arrange) [all|the] {rows} {direction} by {c}",
    "(sort|order|arrange|rank) [all|the] {rows} by {c} {direction}",
    "(sort|order) by {c} {direction}: [all|the] {rows}",
    "I (want|need) [all] the {rows}{order}",
    "let me see [all|the] {rows}{order}",
    "put [all|the] {rows} in {adj_direction} order of {c}",
    "by {c} {direction}, <show> [all|the] {rows}",
)
HIGH = ("highest", "highest", "largest", "greatest", "biggest", "maximum", "top", "max")
LOW = ("lowest", "lowest", "smallest", "minimum", "least", "min")
LATE = ("latest", "most recent", "newest", "last", "latest")
EARLY = ("earliest", "oldest", "first", "earliest")
# A question of `lexicon.lookups` about the row.
QUESTION_OF_ROW = ("{q}?", "{q}?", "{q}?", "{q}", "(tell me|do you know), {q}?")
# Participles of dates: `most recently hired`.
LATEST_EVENT = ("most recently {p}", "last {p}", "latest {p}", "newest {p}")
EARLIEST_EVENT = ("first {p}", "earliest {p}", "very first {p}")
