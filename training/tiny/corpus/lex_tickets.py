"""Vocabulary of support tickets: what happened, how urgent, in which tone."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool

_PHRASES = Phrases(__file__)

KINDS: dict[str, Pool] = {
    "billing": Pool(_PHRASES["KINDS billing"]),
    "shipping": Pool(_PHRASES["KINDS shipping"]),
    "technical": Pool(_PHRASES["KINDS technical"]),
    "account": Pool(_PHRASES["KINDS account"]),
    "refund": Pool(_PHRASES["KINDS refund"]),
    "cancellation": Pool(_PHRASES["KINDS cancellation"]),
    "product question": Pool(_PHRASES["KINDS product question"]),
    "complaint": Pool(_PHRASES["KINDS complaint"]),
    "damaged item": Pool(_PHRASES["KINDS damaged item"]),
}  # fmt: skip
KIND_NAMES = _PHRASES.group("KIND_NAMES")
URGENT = Pool(_PHRASES["URGENT"])
RELAXED = Pool(_PHRASES["RELAXED"])
ANGRY = Pool(_PHRASES["ANGRY"])
POLITE = Pool(_PHRASES["POLITE"])
PLAIN = Pool(_PHRASES["PLAIN"])
GREETING = Pool(
    "Hello; Hi; Dear support team; Good morning; Hi there; "
    "To whom it may concern; Hey; Dear Sir or Madam; Hello team"
)
CLOSING = Pool(
    "Regards, {name}; Best, {name}; Kind regards, {name}; {name}; "
    "Thanks, {name}; Sincerely, {name}; Yours, {name}"
)
REFUND_ASK = Pool(_PHRASES["REFUND_ASK"])
NO_REFUND_ASK = Pool(_PHRASES["NO_REFUND_ASK"])
