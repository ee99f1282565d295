"""Words that a question may hold without meaning a table, a column or a value: "please", "rows", "often"."""

from __future__ import annotations

from relserve.linking.adjectives import MEANINGS, QUESTION_WORDS
from relserve.linking.dates import MONTHS
from relserve.linking.lexicon import (
    AFTER_TRIGGER,
    HOLDING,
    LEADING,
    NEGATIONS,
    NEVER_NAMES,
    NUMBER_WORDS,
    TRIGGERS,
)
from relserve.linking.phrases import AFTER_A_VALUE, ANYWHERE, BEFORE_A_VALUE, UNTIL

_ASKING = (
    "breakdown browse calculate calculated compile compute computed count counted counting determine "
    "display dump enumerate fetch figure filter find found get gimme give given go going gone group "
    "histogram list listed listing look looking match measure obtain outline output overview print "
    "printed pull put retrieve retrieved run search see seek seen select selected show showing shown "
    "tally"
)
_FILLING = (
    "about across actually again ahead aka along already also although altogether am among amongst "
    "another anybody anyone anything anywhere around asap available away back based basically because "
    "been behind being beneath beside besides but bye came case come coming complete completely concern "
    "concerning considering could course current currently detail downward downwards during either else "
    "entire entirely especially even ever everybody everyone exactly first full fully further general "
    "generally goes got gotten he hello her here herself hey hi him his however including inclusive "
    "indeed instead into just keep kindly last lately leaving left let like likely made make makes making "
    "many may maybe might mine moment must my namely neither next nor now off okay once one ones only "
    "onto other others our own perhaps please pls possible precisely pretty quick quickly quite rather "
    "really regard regarding related relevant respectively same shall she should simply so some something "
    "somewhere still such table than them then they thing though till time to together too twice upon "
    "upward upwards us use used using very via was way well were whatever whether whichever while whole "
    "will with within wonder wondering would yes yet you your"
)
_GENERIC = (
    "alphabetical alphabetically catalog catalogue chronological chronologically column content contents "
    "data database dataset distribution element entity entry everything example fact field file flag "
    "information item kind num option present quantity record result row sheet size sort sql stuff system "
    "term type value"
)
_RELATING = (
    "according admitted appear appearing arrive arrived associate associated belong belonging born bring "
    "carried carry connect connected consist constructed contribute cover covering do does done employ "
    "enter entered establish established exist existing fall falling feature featured featuring fill "
    "filled happen have having held hold holding include included involve involved kept lie linked live "
    "living located make mean occur occurred occurring offer originate point possess prior reach receive "
    "received refer registered represent represented send sending sent shared spread stand start started "
    "starting stay staying store stored take taken taking tied took turn work write writing written wrote"
)
_AMOUNTS = (
    "accumulated additional alone amount asc bit cap common commonest comparison cumulative decreasing "
    "deduplicate deduplicated desc differ differing distributed double down duplicate equal equals exact "
    "exceeding false few fewer frequency frequent frequently growing half hardly headcount high higher "
    "hundred ignoring increasing individual known least limit low lower main mainly maximal minimal "
    "mostly multiple nearly non north number often pair per plenty plus popular range rare rarest remove "
    "removed repeat repeated reverse rising set several single sole soonest south split thousand times "
    "topping total true un up varied various widespread"
)
_POLITE = (
    "answer ask asking break check choose compare dear describe examine grab hand help identify "
    "interested know love name offer produce provide query question quote report require return right say "
    "sorry talk tell thank thanks thx wanna want wish"
)
_MARKING = (
    "assigned attached cause classified flagged labeled labelled logged marked matched matching paired "
    "placed quoted recorded signed tagged"
)
_UNITS = (
    "buck cent century day decade degree dollar eur euro gbp gram hour kg kilo kilometer km meter metre "
    "mile minute month percent pound quarter second ton usd watt week year yen"
)
_PHRASES = (*BEFORE_A_VALUE, *AFTER_A_VALUE, *ANYWHERE)

# Plain wherever they stand. Adjectives that may speak of a column ("recent", "best") are not among them.
PLAIN = (
    frozenset(f"{_ASKING} {_FILLING} {_GENERIC} {_RELATING} {_AMOUNTS}".split())
    .union(phrase[0] for phrase in _PHRASES if len(phrase) == 1 and phrase not in MEANINGS)
    .union(NEVER_NAMES - QUESTION_WORDS, UNTIL, MONTHS, TRIGGERS, LEADING, HOLDING, AFTER_TRIGGER, NEGATIONS)
    .union(NUMBER_WORDS)
)
OPERATIONS = frozenset(word for phrase in _PHRASES for word in phrase)
POLITE = frozenset(_POLITE.split())  # plain where somebody is asked for something: "I have a question: .."
MARKING = frozenset(_MARKING.split())  # plain before what is marked: "classified as billing"
UNITS = frozenset(_UNITS.split())  # plain beside a value
OTHER_NAMES = {
    "rating": ("star",),
    "dearest": ("price", "cost"),
    "tag": ("price",),
    "person": ("customer", "employee", "user", "member"),
}
SHARES = frozenset("share percentage percent proportion ratio fraction quota".split())
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday weekend weekday".split())
