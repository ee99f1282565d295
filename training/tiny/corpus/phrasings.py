"""Instruction phrasings: those of training, and (`_UNSEEN`) whole templates kept for evaluation.

`{noun}` is review, comment, ...; `{data}` is the row's text, placed by `layouts`; `{lo}` and `{hi}` bound a
score.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

NOUNS = _PHRASES.group("NOUNS")
SENTIMENT = _PHRASES["SENTIMENT"]
SENTIMENT_UNSEEN = _PHRASES["SENTIMENT_UNSEEN"]
CATEGORY = _PHRASES.group("CATEGORY")
CATEGORY_UNSEEN = _PHRASES.group("CATEGORY_UNSEEN")
RATING = _PHRASES["RATING"]
RATING_UNSEEN = _PHRASES["RATING_UNSEEN"]
EXTRACTION = _PHRASES["EXTRACTION"]
EXTRACTION_UNSEEN = _PHRASES["EXTRACTION_UNSEEN"]
SUMMARY = _PHRASES["SUMMARY"]
SUMMARY_UNSEEN = _PHRASES["SUMMARY_UNSEEN"]
REPLY = _PHRASES["REPLY"]
