"""English words of questions: those that say nothing of a schema, numbers, and adjectives of columns."""

from __future__ import annotations

STOP = frozenset(
    "a an the of in on at by for from to with and or not is are was were be been has have had do does "
    "did that which who whose what when where how many much all any each every per no than more less "
    "most least it its their there this these those me i we you show list give find tell get please us "
    "our out as between before after above below over under contain contains containing number count "
    "total sum average mean minimum maximum highest lowest top first last name names id different "
    "distinct unique order sorted only".split()
)
TRIGGERS = frozenset(
    "contain contains containing include includes including mention mentions mentioning word text "
    "string phrase like called named".split()
)
AFTER_TRIGGER = frozenset("the word text string phrase".split())

NUMBER_WORDS = {
    word: number
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
} | dict(fifteen=15, twenty=20, thirty=30, forty=40, fifty=50, hundred=100, zero=0)

_ADJECTIVES = (
    ("price cost amount fee rate wage rent",
     "cost costs costing costlier costliest expensive pricey pricier priciest cheap cheaper cheapest dear"),
    ("age year birthday birth born", "old older oldest young younger youngest aged"),
    ("year date on at", "new newer newest recent latest earliest oldest older dated released made opened"),
    ("height", "tall taller tallest short shorter shortest high"),
    ("weight", "heavy heavier heaviest light lighter lightest weigh weighs weighing"),
    ("length duration minutes pages mileage", "long longer longest short shorter shortest lasting"),
    ("speed rate", "fast faster fastest slow slower slowest quick quickest"),
    ("area population capacity size volume height employees seats",
     "large larger largest big bigger biggest small smaller smallest"),
    ("population", "populous populated inhabitants people"),
    ("width", "wide wider widest narrow narrower narrowest"),
    ("abv alcohol", "strong stronger strongest weak weaker weakest alcoholic"),
    ("rating stars score", "rated better best worse worst popular stars star"),
    ("salary wage income", "paid earn earns earning earnings"),
    ("temperature", "hot hotter hottest cold colder coldest warm warmer warmest cool cooler coolest"),
    ("power horsepower", "powerful"),
    ("profit income", "profitable"),
    ("city country location address place state region", "where"),
    ("date year", "when"),
)  # fmt: skip


def _columns_of_adjectives() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for columns, words in _ADJECTIVES:
        for word in words.split():
            found.setdefault(word, set()).update(columns.split())
    return {word: frozenset(columns) for word, columns in found.items()}


ADJECTIVES = _columns_of_adjectives()
PLACES = frozenset(["where", "when"])  # these ask for text columns too
