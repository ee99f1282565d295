"""Real reviews for evaluation only: read from the folder RELSERVE_DATA, never trained on and never copied."""

import csv
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from training.tiny.corpus.heldout import EvalGroup

_DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "data"
_LABELS = ("positive", "negative")


def data_folder() -> Path | None:
    """Return the folder of real tables, or None where there is none."""
    folder = Path(os.environ.get("RELSERVE_DATA", _DEFAULT)) / "tables"
    return folder if folder.is_dir() else None


def is_test_half(text: str) -> bool:
    """Tell whether a review belongs to the half that was not looked at for vocabulary."""
    return zlib.crc32(text.encode()) % 2 == 1


def _rows(name: str) -> Iterator[dict[str, str]]:
    folder = data_folder()
    if folder is not None and (folder / name).exists():
        with (folder / name).open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def _sample(labelled: list[tuple[str, str]], num_rows: int) -> EvalGroup | None:
    """Draw half of the rows per label, or all of a label that has fewer, the rest from the other."""
    unique = sorted(dict(labelled).items())
    if not unique:
        return None
    rng = Random(0)
    sides = [[one for one in unique if one[1] == label] for label in _LABELS]
    for side in sides:
        rng.shuffle(side)
    small = min(num_rows // 2, *(len(side) for side in sides))
    sizes = [min(len(side), max(num_rows // 2, num_rows - small)) for side in sides]
    drawn = [one for side, size in zip(sides, sizes, strict=True) for one in side[:size]]
    texts, answers = tuple(text for text, _ in drawn), tuple(label for _, label in drawn)
    template = "Classify the sentiment of this review: {review}"
    return EvalGroup("sentiment", template, {"review": texts}, _LABELS, None, answers, True)


def amazon_sentiment(num_rows: int = 500) -> EvalGroup | None:
    """Product reviews; a product's mean rating from 4 is positive, up to 2 negative. None without data."""
    found = []
    for row in _rows("amazon.csv"):
        text = (row["review_content"] or row["review_title"]).strip()
        rating = float(row["rating"]) if row["rating"].replace(".", "").isdigit() else 3.0
        if text and is_test_half(text) and (rating >= 4 or rating <= 2):
            found.append((text, _LABELS[rating <= 2]))
    return _sample(found, num_rows)


def beer_sentiment(num_rows: int = 500) -> EvalGroup | None:
    """Beer reviews; overall from 15/20 is positive, up to 8/20 negative. None without the data."""
    found = []
    for row in _rows("beer.csv"):
        text, overall = row["review/text"].strip(), int(row["review/overall"].split("/")[0])
        if text and is_test_half(text) and (overall >= 15 or overall <= 8):
            found.append((text, _LABELS[overall <= 8]))
    return _sample(found, num_rows)
