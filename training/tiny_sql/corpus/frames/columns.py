"""Frames that ask for columns of rows.

Slots: {cols} the columns, {colsmany} the columns in the plural, {rows}, {row}, {terse} and {nouns} as in `rows`.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

COLUMNS = _PHRASES["COLUMNS"]
# Without a word for the table: only where there is one.
ALONE = _PHRASES["ALONE"]
# Without a word for the table, under conditions ({mods}).
OF_THOSE = _PHRASES["OF_THOSE"]
DISTINCT = _PHRASES["DISTINCT"]
DISTINCT_ALONE = _PHRASES["DISTINCT_ALONE"]
# After a list: in which order.
ASCENDING = _PHRASES["ASCENDING"]
DESCENDING = _PHRASES["DESCENDING"]
EARLIEST = _PHRASES["EARLIEST"]
LATEST = _PHRASES["LATEST"]
ALPHABETIC = _PHRASES["ALPHABETIC"]
REVERSE_ALPHABETIC = (
    " in reverse alphabetical order of {col}",
    " <sorted> {col} from z to a",
    ", <sorted> {col} in reverse alphabetical order",
)
# {first} and {last} are superlatives: `cheapest first`.
BY_ADJECTIVE = _PHRASES["BY_ADJECTIVE"]
