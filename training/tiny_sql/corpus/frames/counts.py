"""Frames that count. Slots as in `rows`; {values} a column in the plural, {value} in the singular."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

COUNT = _PHRASES["COUNT"]
COUNT_FILTER = _PHRASES["COUNT_FILTER"]
COUNT_FILTER_WHO = _PHRASES["COUNT_FILTER_WHO"]
COUNT_DISTINCT = _PHRASES["COUNT_DISTINCT"]
COUNT_DISTINCT_ALONE = _PHRASES["COUNT_DISTINCT_ALONE"]
