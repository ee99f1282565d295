"""What a phrase of a frame may be replaced by, and what people put around a question."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

SWAPS: dict[str, tuple[str, ...]] = _PHRASES.group("SWAPS")
OPENERS = _PHRASES["OPENERS"]
CLOSERS = _PHRASES["CLOSERS"]
FILLERS = ("simply", "actually", "our", "really", "basically", "also", "please")
DROPPED = frozenset("the a an of all are there is me do that does for have with their its in".split())
