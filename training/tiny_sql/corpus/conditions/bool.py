"""Conditions on what is true or false. Slots: {p} the column as an adjective or participle, {col} its name."""

from training.phrase_files import Phrases
from training.tiny_sql.corpus.conditions.forms import Forms

_PHRASES = Phrases(__file__)

TRUE = Forms(
    modifiers=_PHRASES["TRUE modifiers"],
    predicates=_PHRASES["TRUE predicates"],
    keywords=("{p}", "{p} = true", "{p}: yes", "{p} only", "only {p}", "{p} true"),
    premodifiers=("{p}", "{p}", "{p}", "{p}"),
)
FALSE = Forms(
    modifiers=_PHRASES["FALSE modifiers"],
    predicates=_PHRASES["FALSE predicates"],
    keywords=("not {p}", "{p} = false", "{p}: no", "non {p}", "{p} false"),
    premodifiers=("non-{p}", "non {p}", "not {p}", "un-{p}"),
)
