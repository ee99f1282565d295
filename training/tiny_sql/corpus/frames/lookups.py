"""Frames that ask what one thing has. Slots: {cols} the columns, {x} the thing's name, {row} the table's noun, {key} the name column."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

LOOKUP = _PHRASES["LOOKUP"]
ROW_OF = _PHRASES["ROW_OF"]
# Before a question of `lexicon.lookups`.
OPENINGS = _PHRASES["OPENINGS"]
# By a number: `order 12`.
NUMBERED = _PHRASES["NUMBERED"]
ROW_OF_NUMBER = _PHRASES["ROW_OF_NUMBER"]
LOOKUP_NUMBER = _PHRASES["LOOKUP_NUMBER"]
