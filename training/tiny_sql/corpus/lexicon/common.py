"""Common English words, by which made-up tables, columns and values are called."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

WORDS = _PHRASES["WORDS"]
