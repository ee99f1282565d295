"""Conditions on texts. Slots: {v} and {w} the values, {col} and {cols} the column."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

EQUAL = Forms(
    modifiers=_PHRASES["EQUAL modifiers"],
    predicates=_PHRASES["EQUAL predicates"],
    keywords=_PHRASES["EQUAL keywords"],
)
# Without the column's name: only where the value occurs in this column alone.
BARE = Forms(
    modifiers=_PHRASES["BARE modifiers"],
    predicates=_PHRASES["BARE predicates"],
    keywords=("{v}", "{v}"),
    premodifiers=("{v}", "{v}", "{v}"),
    nouns=("{v}",),
)
PLACE = Forms(
    modifiers=_PHRASES["PLACE modifiers"],
    predicates=_PHRASES["PLACE predicates"],
    keywords=("{v}", "in {v}", "from {v}"),
    premodifiers=("{v}",),
)
MEMBER = Forms(
    modifiers=_PHRASES["MEMBER modifiers"],
    predicates=("*be in {v}", "*work (in|for|at) {v}", "*belong to {v}", "*be (part|members) of {v}"),
    keywords=("{v}", "in {v}", "from {v}"),
    premodifiers=("{v}",),
)
# {done} and {doing} of the lexicon: `directed by Nolan`, `that Nolan directed`.
MADE_BY = Forms(
    modifiers=_PHRASES["MADE_BY modifiers"],
    predicates=_PHRASES["MADE_BY predicates"],
    keywords=("by {v}", "{v}", "{done} by {v}"),
    premodifiers=("{v}",),
)
NOT_EQUAL = Forms(
    modifiers=_PHRASES["NOT_EQUAL modifiers"],
    predicates=_PHRASES["NOT_EQUAL predicates"],
    keywords=_PHRASES["NOT_EQUAL keywords"],
)
NOT_BARE = Forms(
    modifiers=_PHRASES["NOT_BARE modifiers"],
    predicates=("*be not {v}", "*be not (from|in|by) {v}", "are not {v}", "aren't {v}"),
    keywords=("not {v}", "except {v}", "-{v}", "no {v}"),
    premodifiers=("non-{v}", "non {v}"),
)
EITHER = Forms(
    modifiers=_PHRASES["EITHER modifiers"],
    predicates=_PHRASES["EITHER predicates"],
    keywords=_PHRASES["EITHER keywords"],
)
EITHER_BARE = Forms(
    modifiers=_PHRASES["EITHER_BARE modifiers"],
    predicates=("*be {v} or {w}", "*be either {v} or {w}", "*be (from|in|by) {v} or {w}"),
    keywords=("{v} or {w}", "{v}/{w}"),
    premodifiers=("{v} or {w}", "{v} and {w}"),
)
# Of the only long text of a table, or its only text.
CONTAINS_BARE = Forms(
    modifiers=_PHRASES["CONTAINS_BARE modifiers"],
    predicates=_PHRASES["CONTAINS_BARE predicates"],
    keywords=("mentioning {v}", "containing {v}", "about {v}", "with {v}"),
)
CONTAINS = Forms(
    modifiers=_PHRASES["CONTAINS modifiers"],
    predicates=_PHRASES["CONTAINS predicates"],
    keywords=_PHRASES["CONTAINS keywords"],
)
# Of the column that names a row.
NAMED = Forms(
    modifiers=_PHRASES["NAMED modifiers"],
    predicates=("*be called {v}", "*be named {v}", "*go by the name [of] {v}"),
    keywords=("{v}", "named {v}"),
)
