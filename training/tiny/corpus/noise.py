"""Casing, punctuation, typing errors, emoji and markup, as real tables have them."""

from random import Random

EMOJI_GOOD = "😀 😍 👍 ❤️ 🎉 😊 🔥 💯 🥰 ⭐⭐⭐⭐⭐ :) :-) <3 ;) 🙏 👌 ✨".split()
EMOJI_BAD = "😡 👎 😞 💩 🤮 😠 🙄 😢 💔 ⭐ :( :-( :/ 🤬 😤 🤢".split()


def typo(text: str, rng: Random) -> str:
    """Drop, double or swap one letter somewhere."""
    if len(text) < 8:
        return text
    at = rng.randrange(1, len(text) - 2)
    kind = rng.random()
    if kind < 0.4:
        return text[:at] + text[at + 1 :]
    if kind < 0.6:
        return text[:at] + text[at] + text[at:]
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


_NEEDED = frozenset(
    """
not no never n't without hardly barely far anything but however still yet although though while lacks
lacking nothing neither nor isn't don't didn't doesn't can't won't wouldn't could should too less more
worse better expected thought
""".split()
)


def drop_words(text: str, rng: Random) -> str:
    """Leave out a few words, never one that turns the meaning round."""
    share = rng.choice((0.08, 0.15, 0.25))
    kept = [word for word in text.split(" ") if rng.random() > share or word.lower().strip(".,!") in _NEEDED]
    return " ".join(kept) or text


def _casing(text: str, rng: Random) -> str:
    draw = rng.random()
    if draw < 0.10:
        return text.lower()
    if draw < 0.13:
        return text.upper()
    if draw < 0.15:
        return text.title()
    return text


def roughen(text: str, stars: int | None, rng: Random) -> str:
    """Apply a random handful of disturbances; half of the rows stay clean.

    `stars` (1 to 5, None for rows without a verdict) selects the emoji.
    """
    if rng.random() < 0.5:
        return text
    text = _casing(text, rng)
    if rng.random() < 0.15:
        text = drop_words(text, rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        text = typo(text, rng)
    draw = rng.random()
    if draw < 0.12:
        text = text.replace(".", "!")
    elif draw < 0.20:
        text = text.replace(". ", " ").rstrip(".")
    elif draw < 0.28:
        text = text.replace("'", "")
    elif draw < 0.33:
        text = text.replace(". ", "... ")
    elif draw < 0.36:
        text = text.replace(". ", ".<br />")
    elif draw < 0.39:
        text = text.replace("'", "&#39;").replace(" and ", " &amp; ")
    elif draw < 0.43:
        text = text.replace(". ", ".")
    elif draw < 0.47:
        text = text.replace(". ", ", ")
    elif draw < 0.50:
        text = text.replace(" you ", " u ").replace(" are ", " r ").replace("because", "coz")
    if stars in (1, 2, 4, 5) and rng.random() < 0.12:
        text = f"{text} {rng.choice(EMOJI_GOOD if stars > 3 else EMOJI_BAD) * rng.choice((1, 1, 2, 3))}"
    return text
