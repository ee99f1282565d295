"""Verbs and participles that stand for a column: `weigh`, `directed by`, `hired`. Keys as in `meanings.py`."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

# Verbs that take the value as their object: `weigh more than 5`.
VERBS: dict[str, tuple[tuple[str, str], ...]] = {
    "price": (
        ("cost", "costing"),
        ("sell for", "selling for"),
        ("go for", "going for"),
        ("be priced at", "priced at"),
    ),
    "cost": (("cost", "costing"),),
    "fee": (("cost", "costing"), ("charge", "charging")),
    "rent": (("cost", "costing"),),
    "weight": (("weigh", "weighing"),),
    "salary": (("earn", "earning"), ("make", "making"), ("get paid", "getting paid")),
    "wage": (("earn", "earning"), ("make", "making")),
    "income": (("earn", "earning"), ("make", "making")),
    "revenue": (("earn", "earning"), ("make", "making"), ("bring in", "bringing in"), ("gross", "grossing")),
    "gross": (("earn", "earning"), ("gross", "grossing")),
    "profit": (("make", "making"), ("earn", "earning")),
    "duration": (("last", "lasting"), ("take", "taking"), ("run for", "running for")),
    "minutes": (("last", "lasting"), ("run for", "running for")),
    "capacity": (("hold", "holding"), ("seat", "seating"), ("fit", "fitting")),
    "seats": (("seat", "seating"),),
    "attendance": (("draw", "drawing"), ("attract", "attracting")),
    "score": (("score", "scoring"),),
    "rating": (("be rated", "rated"), ("score", "scoring")),
    "stars": (("be rated", "rated"),),
    "area": (("cover", "covering"), ("measure", "measuring")),
    "height": (("measure", "measuring"), ("rise", "rising")),
    "length": (("measure", "measuring"),),
    "employees": (("employ", "employing"),),
    "quantity": (("number", "numbering"),),
    "horsepower": (("produce", "producing"), ("deliver", "delivering")),
    "speed": (("reach", "reaching"), ("run at", "running at")),
    "distance": (("cover", "covering"),),
    "discount": (("be discounted by", "discounted by"),),
    "temperature": (("reach", "reaching"),),
}
# Verbs that count things: `score more than 5 goals`.
COUNTING_VERBS: dict[str, tuple[tuple[str, str], ...]] = {
    "goals": (("score", "scoring"),),
    "points": (("score", "scoring"), ("get", "getting")),
    "wins": (("have", "having"),),
    "medals": (("win", "winning"), ("hold", "holding")),
    "awards": (("win", "winning"), ("receive", "receiving")),
    "votes": (("get", "getting"), ("receive", "receiving")),
    "downloads": (("get", "getting"),),
    "views": (("get", "getting"),),
    "likes": (("get", "getting"), ("receive", "receiving")),
    "employees": (("employ", "employing"),),
    "passengers": (("carry", "carrying"),),
    "students": (("teach", "teaching"), ("take", "taking")),
    "complaints": (("get", "getting"), ("receive", "receiving")),
    "orders": (("get", "getting"), ("receive", "receiving")),
    "games": (("play", "playing"),),
    "rounds": (("last", "lasting"), ("play", "playing")),
    "laps": (("run", "running"),),
    "credits": (("give", "giving"), ("earn", "earning")),
    "calories": (("contain", "containing"),),
    "tickets": (("sell", "selling"),),
    "copies": (("sell", "selling"),),
    "units": (("sell", "selling"),),
    "assists": (("give", "giving"), ("make", "making")),
    "children": (("have", "having"),),
}
# Units by which a value is counted: they say nothing of the column.
UNITS: dict[str, tuple[str, ...]] = _PHRASES.group("UNITS")
# Participles before `by`: `directed by Nolan`, and the verb after `who`.
BY: dict[str, tuple[tuple[str, str], ...]] = {
    "director": (("directed", "directed"),),
    "author": (("written", "wrote"), ("authored", "authored")),
    "writer": (("written", "wrote"),),
    "artist": (("performed", "performed"), ("recorded", "recorded"), ("made", "made")),
    "singer": (("sung", "sang"), ("performed", "performed")),
    "band": (("played", "played"), ("recorded", "recorded")),
    "composer": (("composed", "composed"), ("written", "wrote")),
    "manufacturer": (
        ("made", "makes"),
        ("manufactured", "manufactures"),
        ("built", "builds"),
        ("produced", "produces"),
    ),
    "brand": (("made", "makes"), ("sold", "sells")),
    "brewery": (("brewed", "brews"), ("made", "makes")),
    "company": (("made", "makes"),),
    "publisher": (("published", "published"),),
    "producer": (("produced", "produced"),),
    "owner": (("owned", "owns"),),
    "teacher": (("taught", "teaches"),),
    "supplier": (("supplied", "supplies"), ("delivered", "delivers")),
    "designer": (("designed", "designed"),),
    "vendor": (("sold", "sells"),),
    "seller": (("sold", "sold"),),
    "driver": (("driven", "drives"),),
    "doctor": (("treated", "treated"),),
    "manager": (("managed", "manages"), ("led", "leads")),
    "coach": (("coached", "coaches"), ("trained", "trains")),
    "customer": (("placed", "placed"), ("bought", "bought"), ("ordered", "ordered")),
    "client": (("ordered", "ordered"),),
    "editor": (("edited", "edited"),),
    "host": (("hosted", "hosts"),),
    "airline": (("operated", "operates"),),
    "winner": (("won", "won"),),
    "captain": (("captained", "captains"),),
    "judge": (("judged", "judged"),),
}
PLACES = frozenset(
    "city country state region address location place district county province village continent origin destination street venue stadium airport".split()
)
MEMBERSHIPS = frozenset(
    "department team league office section sector industry company university college school party ward segment network".split()
)
# What happened at a date or in a year: `hired after 2015`, and the auxiliary of its question.
EVENTS: dict[str, tuple[str, ...]] = _PHRASES.group("EVENTS")
# What something did at a date: `joined in 2020`.
DEEDS: dict[str, tuple[str, ...]] = _PHRASES.group("DEEDS")
