"""English words of questions that say nothing of a schema, numbers in words, and names for the same thing."""

from __future__ import annotations

_FUNCTION = (
    "a an the of in on at by for from to with and or not is are was were be been has have had do does did "
    "that "
    "which who whose what when where how many much all any each every per no than more less most least it "
    "its "
    "their there this these those me i we you show list give find tell get please us our out as between "
    "before "
    "after above below over under i'd i'm i've don't doesn't isn't aren't what's who's let us would like "
    "want "
    "need know see 's can could if"
)
_NOUNS = (
    "number count total sum average mean minimum maximum highest lowest top first last name names id "
    "different "
    "distinct unique order sorted only contain contains containing"
)
STOP = frozenset(f"{_FUNCTION} {_NOUNS}".split())
NEVER_NAMES = frozenset(_FUNCTION.split())  # the other stop words name a column where one is called just so
NEGATIONS = frozenset("not never non no isn't aren't wasn't weren't doesn't don't without".split())

TRIGGERS = frozenset(
    "contain contains containing include includes including mention mentions mentioning word text string "
    "phrase like called named".split()
)
LEADING = frozenset("from in by of a an the at on to made come coming located be equal named called".split())
HOLDING = frozenset("with have has having had".split())
AFTER_TRIGGER = frozenset("the word text string phrase".split())

NUMBER_WORDS = {
    word: number
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
} | dict(zero=0, fifteen=15, twenty=20, thirty=30, forty=40, fifty=50, sixty=60, hundred=100, dozen=12)
ONE_AFTER = frozenset(
    "between from than least most exactly over above under below top precisely only just".split()
)

ABBREVIATIONS = dict(
    pair.split(":")
    for pair in (
        "qty:quantity dept:department desc:description descr:description addr:address amt:amount "
        "temp:temperature "
        "yr:year tel:telephone emp:employee cust:customer prod:product mfr:manufacturer num:number no:number "
        "nr:number cnt:count pct:percent perc:percent max:maximum avg:average cat:category "
        "loc:location pop:population lat:latitude lon:longitude lng:longitude org:organization "
        "univ:university "
        "mgr:manager img:image msg:message tot:total sal:salary bal:balance acct:account inv:invoice "
        "ref:reference "
        "dob:birth hp:horsepower mpg:mileage orig:original dest:destination fname:name lname:name"
    ).split()
)

_SYNONYMS = (
    "price cost",
    "salary wage pay income earnings compensation",
    "country nation",
    "city town",
    "author writer",
    "job occupation profession",
    "gender sex",
    "phone telephone",
    "kind type category genre",
    "color colour",
    "rating score grade",
    "name title",
    "customer client buyer",
    "employee worker staff",
    "student pupil",
    "film movie",
    "car vehicle automobile",
    "shop store",
    "doctor physician",
    "company firm business",
    "maker manufacturer producer brand",
    "stock inventory",
    "population inhabitant resident",
    "revenue turnover income sale",
    "duration length runtime",
    "quantity amount",
    "supplier vendor",
    "flat apartment",
    "picture image photo",
    "purchase order",
    "teacher instructor lecturer",
    "seat capacity",
    "strength alcohol abv",
    "sort style kind",
    "remark comment note",
    "birthday birth",
    "surface area",
    "point score",
    "language tongue",
    "house home",
    "illness disease",
    "medicine drug",
    "street address",
    "mail email",
    "date day",
    "department division unit",
    "boss manager",
    "text description",
    "number quantity",
)


def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in map(str.split, _SYNONYMS):
        for word in group:
            found.setdefault(word, {}).update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in found.items()}


SYNONYMS = _synonyms()  # by stem
