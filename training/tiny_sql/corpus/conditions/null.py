"""Conditions on a value that is missing, or known."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

MISSING = Forms(
    modifiers=_PHRASES["MISSING modifiers"],
    predicates=_PHRASES["MISSING predicates"],
    keywords=_PHRASES["MISSING keywords"],
)
PRESENT = Forms(
    modifiers=_PHRASES["PRESENT modifiers"],
    predicates=_PHRASES["PRESENT predicates"],
    keywords=_PHRASES["PRESENT keywords"],
)
