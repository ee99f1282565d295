"""Yes/no questions by fact: how they are asked in training and how only in evaluation."""

from random import Random

from training.tiny.corpus.question_parts import composed
from training.tiny.corpus.text import lines

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
COMPOSED = {name: composed(name) for name in SEEN}


def ask(name: str, rng: Random) -> str:
    """Draw a question of training: one of the written ones or a composed one."""
    return rng.choice(SEEN[name] if rng.random() < 0.4 else COMPOSED[name])


UNSEEN: dict[str, tuple[str, ...]] = {
    "satisfied": lines("""
        Would whoever wrote the following be glad to have spent the money? {data}
        {data}\\n\\nDo these words come from somebody who liked what they got?
        Say whether "{data}" was said by a happy person
        Opinion: {data}\\nIs this opinion on the good side?
    """),
    "!satisfied": lines("Is there mostly complaining in these lines: {data}"),
    "recommends": lines("If the author met a friend, would that friend hear good things about it? {data}"),
    "buy_again": lines("{data}\\nDo we see this customer a second time for the same product?"),
    "price": lines("""
        Find out if the author says what it cost or whether it was expensive: {data}
        {data}\\nIs money spoken of?
    """),
    "shipping": lines("Please check if the way the parcel was delivered plays a role in: {data}"),
    "battery": lines("'{data}' - is the battery spoken about in there?"),
    "acting": lines("{data}\\nDo we hear about the performance of the actors?"),
    "ending": lines("Say if the author speaks about how the film ends: {data}"),
    "music": lines("Are the songs or the soundtrack spoken of in [{data}]?"),
    "kids_plot": lines("Tonight the children are at home. Could we all see this one? {data}"),
    "bitter": lines("I look for bitter beers. Is this one of them? {data}"),
    "dark": lines("{data}\\nWould the beer look dark on the table?"),
    "urgent": lines("""
        Does somebody have to work on this message at once? {data}
        {data}\\n\\nIs the customer waiting for an answer right now?
    """),
    "angry": lines("Is [{data}] the voice of an angry customer?"),
    "refund": lines("{data}\\nDo they hope to see their money again?"),
}  # fmt: skip
"""Templates that never stand in training, written after the last change to its phrasings."""
