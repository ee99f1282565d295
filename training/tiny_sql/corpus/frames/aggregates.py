"""Frames for one number over many rows, and the words of the numbers.

Slots: {n} the aggregate (`average price`), {rows}, {row}, {terse} and {nouns} as in `rows`; in the words {c} is the column, {cs}
its plural.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

WORDS = _PHRASES.group("WORDS")
DATE_WORDS = _PHRASES.group("DATE_WORDS")
# Several aggregates of one column: `minimum and maximum price`.
SHORT = _PHRASES.group("SHORT")
AGGREGATE = _PHRASES["AGGREGATE"]
# Without a word for the rows: only where there is one table.
ALONE = _PHRASES["ALONE"]
# Conditions first.
FRONTED = _PHRASES["FRONTED"]
# Without a word for the rows, under conditions ({mods}).
OF_THOSE = _PHRASES["OF_THOSE"]
# Around words for the column alone.
AVERAGE = _PHRASES["AVERAGE"]
TOTAL = _PHRASES["TOTAL"]
TOTAL_COUNT = _PHRASES["TOTAL_COUNT"]
HIGHEST = (
    "how high (is|does) the {c} of [the|all] {rows} (get|go|at most)?",
    "what {c} do [the|all] {rows} (reach|have) at (most|the most|best)?",
    "up to what {c} do [the|all] {rows} go?",
)
LOWEST = ("how low does the {c} of [the|all] {rows} (get|go)?", "what {c} do [the|all] {rows} have at least?")
# Without the column's name: {q} is a question of `lexicon.lookups`, {p} a participle of a date.
HOW_ON_AVERAGE = _PHRASES["HOW_ON_AVERAGE"]
HOW_IN_TOTAL = _PHRASES["HOW_IN_TOTAL"]
WHEN_LAST = _PHRASES["WHEN_LAST"]
WHEN_FIRST = _PHRASES["WHEN_FIRST"]
