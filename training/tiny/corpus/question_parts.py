"""Yes/no questions composed from parts, so that a question is known by its matter and not by its wording."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import lines

_PHRASES = Phrases(__file__)

_WHO = lines("customer; reviewer; writer; author; sender; client; user; person; buyer; guest")
_PATTERNS = _PHRASES.group("_PATTERNS")
_MATTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "satisfied": ("feels",
    lines("satisfied; happy; pleased; content; glad; delighted; impressed; fond of it; a fan; won over")),
    "!satisfied": ("feels", lines("""
        dissatisfied; unhappy; disappointed; displeased; let down; discontent; sorry to have bought it
        unimpressed
    """)),
    "recommends": ("does", lines("""
        recommend it; recommend it to friends; advise others to get it; tell friends to try it; speak for it
        suggest it
    """)),
    "buy_again": ("does", lines("""
        buy it again; purchase it again; order it a second time; get another one; make a second purchase
        come back for more
    """)),
    "order_again": ("does",
    lines("have it again; try it again; order it again; choose it a second time; go back for more")),
    "price": ("mention",
    lines("the price; the cost; money; how much it costs; what was paid; being cheap or expensive")),
    "shipping": ("mention", lines("""
        shipping; the delivery; how it arrived; the parcel; the courier; transport
        the arrival of the parcel
    """)),
    "battery": ("mention",
    lines("the battery; battery life; how it is powered; charging the battery; the power supply")),
    "gift": ("mention",
    lines("a gift; giving it as a present; a present for somebody; a birthday or christmas gift")),
    "acting": ("mention",
    lines("the acting; the actors; the cast; how the actors did; the work of the actors; the lead")),
    "ending": ("mention",
    lines("the ending; the finale; how it ends; the end of the film; the last scene; the conclusion")),
    "music": ("mention",
    lines("the music; the soundtrack; the score; the songs; what it sounds like; the musical side")),
    "kids": ("fits",
    lines("children; kids; young viewers; a little child; the whole family; a six-year-old; minors")),
    "kids_plot": ("fits",
    lines("children; kids; young viewers; a little child; the whole family; a seven-year-old; minors")),
    "bitter": ("is",
    lines("bitter; strong in bitterness; hoppy and bitter; full of bitterness; bitter in taste")),
    "sweet": ("is", lines("sweet; full of sweetness; sugary; sweet in taste; on the sweet side")),
    "dark": ("is",
    lines("dark; black or brown; dark in colour; of a dark colour; dark in the glass; a dark one")),
    "urgent": ("feels", lines("""
        in a hurry; short of time; pressed; waiting for a quick answer; in need of help right away
        under time pressure
    """)),
    "angry": ("feels", lines("""
        angry; furious; mad; annoyed; upset; losing patience; in a bad temper; out of patience; irritated
        rude
    """)),
    "refund": ("wants", lines("""
        a refund; money back; to be paid back; a reimbursement; the money returned; us to pay something back
    """)),
    "order_number": ("mention",
    lines("an order number; the number of an order; an order id; which order it is")),
}  # fmt: skip


def composed(name: str) -> tuple[str, ...]:
    """Return every composed question of a fact; `{noun}` and `{item}` are left to the caller."""
    kind, matters = _MATTERS[name]
    found = []
    for pattern in _PATTERNS[kind]:
        for matter in matters:
            text = pattern.replace("{c}", matter)
            found += [text.replace("{who}", who) for who in _WHO] if "{who}" in text else [text]
    return tuple(found)
