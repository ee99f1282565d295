"""Frames that ask for rows.

Slots: {rows} the rows with their conditions, {row} one of them, {terse} the same as keywords, {noun} and {nouns} without
conditions, {does} and {do} the conditions as verbs of one and of several.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

# Every row, as it is.
LIST = _PHRASES["LIST"]
# A question for things: answered by their names.
LIST_WHICH = _PHRASES["LIST_WHICH"]
FILTER = _PHRASES["FILTER"]
FILTER_WHICH = _PHRASES["FILTER_WHICH"]
FILTER_WHO = _PHRASES["FILTER_WHO"]
