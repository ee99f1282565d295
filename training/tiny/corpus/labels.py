"""Label sets of the sentiment task, and how labels are spelled in a prompt."""

from random import Random

# (labels from worst to best); two labels: negative, positive; three: negative, neutral, positive
TWO = (
    ("negative", "positive"), ("negative", "positive"), ("negative", "positive"), ("bad", "good"),
    ("unhappy", "happy"), ("neg", "pos"),
    ("dissatisfied", "satisfied"), ("dislike", "like"), ("unfavourable", "favourable"),
    ("unfavorable", "favorable"),
    ("thumbs down", "thumbs up"), ("rotten", "fresh"), ("disliked", "liked"), ("hate", "love"),
    ("sad", "happy"), ("-", "+"),
    ("not recommended", "recommended"), ("disappointed", "pleased"), ("critical", "approving"),
    ("hater", "fan"), ("angry", "happy"),
)  # fmt: skip
THREE = (
    ("negative", "neutral", "positive"), ("negative", "neutral", "positive"),
    ("negative", "neutral", "positive"), ("bad", "okay", "good"),
    ("negative", "mixed", "positive"), ("unhappy", "neutral", "happy"), ("bad", "average", "good"),
    ("neg", "neu", "pos"),
    ("dissatisfied", "indifferent", "satisfied"), ("dislike", "neutral", "like"), ("poor", "fair", "good"),
    ("bad", "mixed", "good"),
)  # fmt: skip
FIVE = (
    ("very negative", "negative", "neutral", "positive", "very positive"),
    ("terrible", "bad", "okay", "good", "excellent"),
    ("awful", "poor", "average", "good", "great"), ("very bad", "bad", "neutral", "good", "very good"),
)  # fmt: skip


def case(labels: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """Spell a label set in lower, title or upper case."""
    draw = rng.random()
    if draw < 0.5:
        return labels
    if draw < 0.88:
        return tuple(label[:1].upper() + label[1:] for label in labels)
    return tuple(label.upper() for label in labels)


def by_stars(labels: tuple[str, ...], stars: int) -> str:
    """Return the label that fits a number of stars; two labels have none for three stars."""
    if len(labels) == 5:
        return labels[stars - 1]
    if len(labels) == 3:
        return labels[(0, 0, 1, 2, 2)[stars - 1]]
    return labels[stars > 3]


def in_words(choices: tuple[str, ...], rng: Random) -> str:
    """Name the choices inside the prompt itself, as users of plain `llm()` do."""
    quote = rng.choice(("'", "'", '"', "", ""))
    quoted = [f"{quote}{choice}{quote}" for choice in choices]
    joined = ", ".join(quoted[:-1]) + rng.choice((" or ", ", or ", " or ", ", ")) + quoted[-1]
    form = rng.choice((
        "Output only {c}.", "Output only {c} and nothing else.", "Answer {c}.", "Reply with {c} only.",
        "Choose from: {c}.",
        "Options: {c}.", "Answer with one word: {c}.", "Respond with {c}.", "Say {c}.",
        "Possible answers: {c}.", "Use {c}.",
        "categories: {c}.", "output only {c}", "({c})", "Answer only {c}, nothing else.", "One of {c}.",
        "Labels: {c}",
    ))  # fmt: skip
    return form.replace("{c}", joined)
