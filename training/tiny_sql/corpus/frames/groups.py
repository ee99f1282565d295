"""Frames for one row a group.

Slots: {g} the group's column, {gs} its plural, {n} the aggregate; {rows}, {row} as in `rows`; {w} a comparison and a number.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

COUNT = _PHRASES["COUNT"]
# Without a word for the rows: only where there is one table.
COUNT_ALONE = _PHRASES["COUNT_ALONE"]
# From most to fewest, or from high to low: {g}s in an order of their own.
RANK_COUNT = _PHRASES["RANK_COUNT"]
RANK_AGGREGATE = _PHRASES["RANK_AGGREGATE"]
# By the year of a date: {p} is its participle (`hired`).
COUNT_EVENTS = _PHRASES["COUNT_EVENTS"]
AGGREGATE = _PHRASES["AGGREGATE"]
AGGREGATE_ALONE = _PHRASES["AGGREGATE_ALONE"]
MOST_FIRST = _PHRASES["MOST_FIRST"]
LEAST_FIRST = _PHRASES["LEAST_FIRST"]
BY_GROUP = (", <sorted> {g}", ", (ordered|sorted) by {g}", ", in order of {g}", " <sorted> {g}")
HAVING_COUNT = _PHRASES["HAVING_COUNT"]
HAVING_AGGREGATE = _PHRASES["HAVING_AGGREGATE"]
TOP_COUNT = _PHRASES["TOP_COUNT"]
TOP_COUNTS = _PHRASES["TOP_COUNTS"]
TOP_AGGREGATE = _PHRASES["TOP_AGGREGATE"]
TOP_AGGREGATES = _PHRASES["TOP_AGGREGATES"]
