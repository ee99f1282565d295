"""Rewording of a whole question: other words, fillers, dropped words, case and punctuation."""

import random


def reworded(rng: random.Random, text: str) -> str:
    """The question, cleaned up and said in other words; markers stay."""
    text = " ".join(text.split()).replace(" ,", ",").replace(" ?", "?")
    if rng.random() < 0.5:
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.35:
        text = text.rstrip("?")
    return text
