"""Frames for the first rows of an order.

Slots: {np} one row as a noun phrase (`oldest student`, `film with the highest rating`), {nps} several (`5 oldest students`),
{np_does} its clause after `which`, {cols} the columns asked for; {sup} a superlative, {c} the column, {row}, {rows} as in `rows`.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

# One row by a superlative adjective, or by a column.
BY_ADJECTIVE = ("{sup} {row}", "{sup} {row}", "{sup} one (among|of) [the|all] {rows}")
BY_COLUMN = _PHRASES["BY_COLUMN"]
MANY_BY_ADJECTIVE = _PHRASES["MANY_BY_ADJECTIVE"]
MANY_BY_DATE = _PHRASES["MANY_BY_DATE"]
MANY_BY_COLUMN = _PHRASES["MANY_BY_COLUMN"]
ROW = _PHRASES["ROW"]
ROW_WHICH = _PHRASES["ROW_WHICH"]
ROW_WHO = _PHRASES["ROW_WHO"]
IS_BEST_DATE = ("has the {best} {c}", "has the {best} {c}", "comes with the {best} {c}")
IS_BEST_COLUMN = _PHRASES["IS_BEST_COLUMN"]
IS_WORST_COLUMN = _PHRASES["IS_WORST_COLUMN"]
IS_BEST_ADJECTIVE = ("is [the] {sup}", "is the {sup} [one]", "is the {sup}")
COLUMNS_OF_ROW = _PHRASES["COLUMNS_OF_ROW"]
ROWS = _PHRASES["ROWS"]
ROWS_WHICH = _PHRASES["ROWS_WHICH"]
ROWS_WHO = _PHRASES["ROWS_WHO"]
HAVE_BEST_DATE = ("have the {best} {c}", "have the {best} {c}", "come with the {best} {c}")
HAVE_BEST_COLUMN = ("have the {best} {c}", "(show|reach|come with) the {best} {c}", "rank {rank} by {c}")
# Of counted things ({most} {cs}: `the most goals`), and by a verb ({verbs} {most}: `costs the most`).
BY_NUMBER = _PHRASES["BY_NUMBER"]
MANY_BY_NUMBER = _PHRASES["MANY_BY_NUMBER"]
HAS_NUMBER = _PHRASES["HAS_NUMBER"]
HAVE_NUMBER = ("have {most} {cs}", "(got|count|show|get) {most} {cs}")
BY_VERB = ("{row} that {verbs} {the_most}", "{row} {verbing} {the_most}", "{row} which {verbs} {the_most}")
MANY_BY_VERB = ("{k} {rows} that {verb} {the_most}", "{k} {rows} {verbing} {the_most}")
DOES_BY_VERB = ("{verbs} {the_most}", "{verbs} {the_most}", "{verbs} {the_most} of all")
DO_BY_VERB = ("{verb} {the_most}", "{verb} {the_most}")
HAVE_BEST_ADJECTIVE = ("are [the] {sup}", "are the {sup}")
COLUMNS_OF_ROWS = _PHRASES["COLUMNS_OF_ROWS"]
# The whole table in an order.
ORDER = _PHRASES["ORDER"]
HIGH = ("highest", "highest", "largest", "greatest", "biggest", "maximum", "top", "max")
LOW = ("lowest", "lowest", "smallest", "minimum", "least", "min")
LATE = ("latest", "most recent", "newest", "last", "latest")
EARLY = ("earliest", "oldest", "first", "earliest")
# A question of `lexicon.lookups` about the row.
QUESTION_OF_ROW = ("{q}?", "{q}?", "{q}?", "{q}", "(tell me|do you know), {q}?")
# Participles of dates: `most recently hired`.
LATEST_EVENT = ("most recently {p}", "last {p}", "latest {p}", "newest {p}")
EARLIEST_EVENT = ("first {p}", "earliest {p}", "very first {p}")
