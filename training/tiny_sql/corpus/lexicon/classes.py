"""Classes of words that frames name, as `<show>`: each is what one idea is called."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

CLASSES: dict[str, tuple[str, ...]] = _PHRASES.group("CLASSES")
