"""Phrases that come to a word of the answer: "no more than" to "<=", "how many" to "count"."""

from __future__ import annotations

_BEFORE_A_VALUE = {
    ">": "more than|greater than|higher than|larger than|bigger than|over|above|exceeding|exceed|exceeds|"
    "exceeded|"
    "beyond|in excess of|upwards of|after|later than|past|surpassing|surpass|surpasses|longer than|better "
    "than|"
    "following|follows",
    ">=": "at least|no less than|not less than|no fewer than|not fewer than|minimum of|a minimum of|since|"
    "starting from|not below|not under|no lower than|not lower than|not before|from at least|no earlier than|"
    "greater than or equal to|more than or equal to|as of|minimum",
    "<": "less than|fewer than|lower than|smaller than|under|below|beneath|before|prior to|earlier than|"
    "short of|"
    "ahead of|precedes|preceding|worse than|not even",
    "!=": "isn't|is not|not|aren't|are not|doesn't equal|does not equal|wasn't|was not|don't|doesn't|"
    "do not|does not|never|all but|everything but|but not|but|all except",
    "<=": "at most|no more than|not more than|up to|maximum of|a maximum of|not above|not over|not exceeding|"
    "no higher than|not higher than|no greater than|not greater than|no later than|not later than|not after|"
    "less than or equal to|fewer than or equal to|smaller than or equal to|until|through|maximum",
}
_AFTER_A_VALUE = {
    ">=": "or more|or higher|or above|or greater|or later|or better|or over|or longer|or newer|and more|"
    "and up|"
    "and above|and over|and higher|and later|onwards|onward|or after|plus|minimum|at least",
    "<=": "or less|or fewer|or lower|or below|or under|or earlier|or smaller|and below|and under|or "
    "before|or worse|"
    "and earlier|maximum|at most|or cheaper|tops",
}
_ANYWHERE = {
    "!=": "other than|except|except for|excluding|apart from|not equal to|different from|aside from|besides|"
    "outside|outside of",
    "null": "without|missing|lack|lacks|lacking|unknown|empty|not known|unspecified|blank|not given|not "
    "set|null",
    "count": "how many|number of|the number of|total number of|count|count of|total count of|amount of times",
    "avg": "average|mean|avg|typical|on average|averaged|typically",
    "sum": "total|sum|sum of|combined|altogether|in total|overall|cumulative|summed|add up|adds up|sum up|"
    "summed up",
    "max": "highest|largest|greatest|biggest|maximum|max|most|top|peak|upper limit",
    "min": "lowest|smallest|minimum|min|least|fewest|bottom",
    "distinct": "different|distinct|unique|without duplicates|separate|no duplicates|without repetition|"
    "without repeating|various",
    "desc": "descending|in descending order|decreasing|highest first|largest first|biggest first|most first|"
    "from highest to lowest|from high to low|from largest to smallest|newest first|latest first|most "
    "recent first|"
    "in reverse order|in decreasing order|greatest first|high to low|from most to least|most expensive first|"
    "from newest to oldest|highest to lowest|largest to smallest|reversed|reverse",
    "asc": "ascending|in ascending order|increasing|lowest first|smallest first|from lowest to highest|"
    "from low to high|from smallest to largest|oldest first|earliest first|in increasing order|"
    "alphabetically|"
    "in alphabetical order|low to high|from least to most|cheapest first|from oldest to newest|lowest to "
    "highest|"
    "smallest to largest|fewest first|least first",
    "group": "per|for each|for every|grouped by|group by|broken down by|split by|by each|in each|"
    "in every|separately for|breakdown by",
    "order by": "ordered by|sorted by|order by|sort by|ranked by|arranged by|in order of|sort|sorted|"
    "ordered|rank",
    "contains": "containing|contains|contain|including|includes|include|mention|mentions|mentioning|"
    "mentioned|"
    "with the word|have the word|the word|somewhere in|in it|in which the word|substring|featuring the word",
    "between": "between|ranging from|in the range|range from|ranges from|within",
}


def _split(signs: dict[str, str]) -> dict[tuple[str, ...], str]:
    return {tuple(phrase.split()): sign for sign, phrases in signs.items() for phrase in phrases.split("|")}


UNTIL = frozenset(["to", "-", "–", "till"])  # between two values
BEFORE_A_VALUE = _split(_BEFORE_A_VALUE)
AFTER_A_VALUE = _split(_AFTER_A_VALUE)
ANYWHERE = _split(_ANYWHERE)
