"""Names of columns by kind of value, as schemas have them."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

TEXT = _PHRASES["TEXT"]
INT = _PHRASES["INT"]
NUM = _PHRASES["NUM"]
DATE = _PHRASES["DATE"]
BOOL = _PHRASES["BOOL"]
LONG_TEXTS = frozenset("description comment note review plot summary message bio abstract content".split())
NAMES = ("name", "name", "name", "title", "{table}_name", "{table}_name", "full_name", "label")
# Whole numbers by which rows are grouped, and which are not summed.
GROUPING_INTS = frozenset("year stars rating level season grade floor priority rank version".split())
NEVER_SUMMED = frozenset(
    "year age rank rating stars version level season grade latitude longitude temperature gpa abv ratio rate percentage height "
    "altitude priority humidity pressure density acidity size".split()
)
