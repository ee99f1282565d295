"""Yes/no questions by fact: how they are asked in training and how only in evaluation."""

from relserve.tiny.corpus.text import lines

_SATISFIED = """
is the reviewer satisfied?; is the customer satisfied?; is this review positive?; does the reviewer like it?
is the author happy?; is the {noun} positive?; is the writer pleased?; did the reviewer enjoy it?
is it a good review?; the reviewer is satisfied; does the author like the {item}?
is this a positive {noun}?; does the {noun} praise the {item}?; positive?; is the user happy?
was the customer happy with the {item}?; is the overall opinion favourable?
does the writer speak well of it?; satisfied?; the {noun} is positive; did they like it?
the writer likes the {item}; is the reviewer happy with the {item}?; is the sentiment positive?
"""
_UNSATISFIED = """
is the reviewer dissatisfied?; is this review negative?; is the {noun} negative?
does the reviewer dislike it?; is the author unhappy?; is it a bad review?; the reviewer is unhappy
does the writer complain?; is the customer disappointed?; negative?; the {noun} is negative
did they hate it?; is the user disappointed with the {item}?; is the sentiment negative?
is this a complaint?; is this {noun} critical?
"""
SEEN: dict[str, tuple[str, ...]] = {
    "satisfied": lines(_SATISFIED), "!satisfied": lines(_UNSATISFIED),
    "recommends": lines("""
        would the reviewer recommend it?; does the author recommend the {item}?; is it recommended?
        the reviewer recommends the {item}; would they recommend it to a friend?
        does the {noun} recommend the {item}?
    """),
    "buy_again": lines("""
        would they buy it again?; would the customer buy again?; would the reviewer purchase it again?
        will the reviewer buy this again?; the reviewer would buy it again
        does the customer want to order it again?
    """),
    "order_again": lines("""
        would the reviewer have it again?; would they try it again?; would the writer go back for more?
        would the author choose it again?; would they want it a second time?
    """),
    "price": lines("""
        does the {noun} mention the price?; does it mention the price?; is the price mentioned?
        mentions price; does the reviewer talk about the price?
        does the {noun} say anything about the cost?; is the cost discussed?
    """),
    "shipping": lines("""
        does the {noun} mention shipping?; is delivery mentioned?; does it mention the delivery?
        mentions shipping; does the reviewer talk about shipping?
        does the {noun} say anything about the delivery?; is shipping discussed?
    """),
    "battery": lines("""
        does the {noun} mention the battery?; is the battery mentioned?; mentions battery
        does the reviewer talk about the battery?; does the {noun} say anything about battery life?
        is the battery discussed?
    """),
    "gift": lines("""
        was it bought as a gift?; was the {item} a gift?; does the {noun} mention a gift?
        is it a present for someone?; did the customer give it as a present?; bought as a gift
    """),
    "acting": lines("""
        does the {noun} mention the acting?; are the actors discussed?
        does the reviewer talk about the acting?; is the acting mentioned?
        does it say anything about the cast?; mentions acting
    """),
    "ending": lines("""
        does the {noun} mention the ending?; is the ending discussed?
        does the reviewer talk about the ending?; is the end of the film mentioned?
        does it say anything about how the film ends?; mentions the ending
    """),
    "music": lines("""
        does the {noun} mention the music?; is the soundtrack discussed?
        does the reviewer talk about the music?; is the music mentioned?
        does it say anything about the score?; mentions music
    """),
    "kids": lines("""
        is the film suitable for children?; can kids watch it?; is it a family film?; suitable for kids?
        is this movie good for the whole family?; would you show it to a child?
        is this suitable for children?
    """),
    "kids_plot": lines("""
        is the film suitable for children?; can kids watch it?; is it a family film?; suitable for kids?
        is this movie good for the whole family?; would you show it to a child?
        is this suitable for children?
    """),
    "bitter": lines("""
        is the beer bitter?; is it bitter?; does the beer taste bitter?; bitter?; the beer is bitter
        does the reviewer find the beer bitter?; is bitterness noted?; does it have a bitter taste?
    """),
    "sweet": lines("""
        is the beer sweet?; is it sweet?; does the beer taste sweet?; sweet?; the beer is sweet
        does the reviewer find the beer sweet?; does it have a sweet taste?
    """),
    "dark": lines("""
        is the beer dark?; is it a dark beer?; does it pour dark?; dark?; the beer is dark
        is the colour dark?; is the beer dark in colour?; does it look dark?
    """),
    "urgent": lines("""
        is this ticket urgent?; is it urgent?; does the customer need a quick answer?; is the {noun} urgent?
        urgent?; the {noun} is urgent; should we answer at once?; is there a hurry?
        does this need immediate attention?
    """),
    "angry": lines("""
        is the customer angry?; is the customer upset?; is the tone angry?; does the writer sound angry?
        angry?; the customer is angry; is the {noun} rude or angry?; is the customer annoyed?
    """),
    "refund": lines("""
        does the customer ask for a refund?; is the customer asking for a refund?
        do they want their money back?; refund requested?; is a refund requested?
        does the {noun} ask for money back?; the customer wants a refund
    """),
    "order_number": lines("""
        does the {noun} contain an order number?; is an order number given?
        did the customer name an order number?; does it mention an order number?; order number present?
    """),
}  # fmt: skip
UNSEEN: dict[str, tuple[str, ...]] = {
    "satisfied": lines("""
        Did this go down well with whoever wrote it? {data}
        {data}\\n\\nWas that written by someone content?
        Judging by "{data}", was the experience a good one?
    """),
    "recommends": lines("Should friends of the author be told to get one, going by this: {data}"),
    "buy_again": lines("{data}\\nCan we expect a second purchase from this person?"),
    "price": lines("""
        Is there a word about money in the following? {data}; {data}\\nCheck: cost comes up above.
    """),
    "shipping": lines("Tell me if transport or arrival of the parcel comes up: {data}"),
    "battery": lines("Does '{data}' touch on how it is powered or its battery?"),
    "acting": lines("{data}\\nAnything on the actors' work?"),
    "ending": lines("Look for a remark on the finale or the ending in: {data}"),
    "kids_plot": lines("Could a six-year-old watch this with us? {data}"),
    "bitter": lines("Going by the note [{data}], should I expect bitterness?"),
    "dark": lines("{data}\\nSo is the drink of a dark shade?"),
    "urgent": lines("""
        Must somebody look at this right away? {data}; {data}\\n\\nIs the sender pressed for time?
    """),
    "angry": lines('Has the sender lost their temper in "{data}"?'),
    "refund": lines("{data}\\nAre we expected to pay something back?"),
}
