"""Names of tables: things, and people, of whom a question asks `who`."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

THINGS = _PHRASES["THINGS"]
PEOPLE = _PHRASES["PEOPLE"]
BRIDGES = _PHRASES["BRIDGES"]
MODIFIERS = _PHRASES["MODIFIERS"]
