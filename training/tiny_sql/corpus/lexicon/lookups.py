"""Questions for one column of one thing, in words that are not the column's name. Keys as in `meanings.py`."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

# Questions that ask for a column without its name; {x} is who or what is asked about.
QUESTIONS: dict[str, tuple[str, ...]] = _PHRASES.group("QUESTIONS")
