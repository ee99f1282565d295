"""The joins of `benchmarks.semantic_joins`, and an engine that replays their known matches.

Review to beer style is real (beer.csv), and so is product to category (amazon.csv). Ticket to product pairs
the shipped products with messages that name one of them, and film to genre is the shipped table as it is.
"""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.provenance import ROOT
from relserve.call.relquery import Submission

EXAMPLES = ROOT / "relserve" / "examples"
QUESTION = "Is this text about that one?"  # what stands before the values in each template
TEMPLATE = f"{QUESTION} Text: {{x}} One: {{y}}"
_PAIR = re.compile(rf"{re.escape(QUESTION)} Text: (.*) One: (.*)$", re.DOTALL)
_ROW = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class KnownJoin(NamedTuple):
    """A join with known matches.

    Attributes:
        few, many: the texts of both sides.
        matches: of each text of `many`, the one of `few` that it belongs to.
    """

    name: str
    few: list[str]
    many: list[str]
    matches: dict[str, str]

    @property
    def num_pairs(self) -> int:
        return len(self.few) * len(self.many)


def joins(tables: Path) -> Iterator[KnownJoin]:
    """The joins by name; the sizes are those of their sides."""
    reviews = [(row["review/text"], row["beer/style"]) for row in _rows(tables / "beer.csv")]
    yield _join("review to beer style", reviews, 60, 400)
    yield _join("ticket to product", _tickets(), 60, 400)
    yield _join(
        "product to category",
        [(r["product_name"], r["category"]) for r in _rows(tables / "amazon.csv")],
        200,
        1000,
    )
    named = [(row["review/text"], row["beer/name"]) for row in _rows(tables / "beer.csv")]
    yield _join("review to beer", named, 200, 1000)
    films = [(f"{row['title']}: {row['plot']}", row["genre"]) for row in _rows(EXAMPLES / "films.csv")]
    yield _join("film to genre", films, 17, 80)


def _join(name: str, rows: list[tuple[str, str]], num_few: int, num_many: int) -> KnownJoin:
    """The first rows whose match is among the first so many."""
    plain = [(" ".join(text.split())[:600], " ".join(one.split())) for text, one in rows]
    few = list(dict.fromkeys(one for text, one in plain if text and one))[:num_few]
    matches = {text: one for text, one in plain if text and one in few}
    many = list(matches)[:num_many]
    return KnownJoin(name, few, many, {text: matches[text] for text in many})


def _tickets() -> list[tuple[str, str]]:
    """Messages of customers, each about a product."""
    products = [f"{row['name']}: {row['description']}" for row in _rows(EXAMPLES / "products.csv")]
    tickets = [row["text"] for row in _rows(EXAMPLES / "tickets.csv")]
    found = []
    for number in range(400):
        product = products[(7 * number) % len(products)]
        words = product.partition(":")[0]
        found.append((f"{tickets[number % len(tickets)]} It is about no. {number}, my {words}.", product))
    return found


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


class Noise(NamedTuple):
    """How often a model errs.

    Attributes:
        missed, made_up: of matches and of other pairs, whichever way they are asked: what the model believes.
        missed_in_block: of matches besides, in a prompt of 100 pairs; in larger ones more.
    """

    missed: float = 0.0
    made_up: float = 0.0
    missed_in_block: float = 0.0


class JoinReplay:
    """The script of an engine that knows the matches; see `ScriptedEngine`."""

    def __init__(self, join: KnownJoin, noise: Noise = Noise()) -> None:  # noqa: B008
        self._join, self._noise = join, noise

    def __call__(self, prompt: str, submission: Submission) -> str:
        if submission.sampling.grammar is not None and submission.sampling.grammar.choices:
            pair = _PAIR.search(prompt)
            return "yes" if pair and self.believes(*pair.groups()) else "no"
        lefts, rights = _lists(prompt)
        found = [
            (left, right)
            for left, text in lefts
            for right, one in rights
            if self.believes(text, one) and not self._overlooks(text, one, len(lefts) * len(rights))
        ]
        if len(lefts) == 1:
            return json.dumps({"matches": [right for _, right in found]})
        if len(rights) == 1:
            return json.dumps({"matches": [left for left, _ in found]})
        return json.dumps({"matches": found})

    def believes(self, text: str, one: str) -> bool:
        """What the model takes for a match."""
        if self._join.matches.get(text) == one:
            return _chance("missed", text, one) >= self._noise.missed
        return bool(self._noise.made_up) and _chance("made up", text, one) < self._noise.made_up

    def _overlooks(self, text: str, one: str, num_pairs: int) -> bool:
        return _chance("block", text, one) < self._noise.missed_in_block * num_pairs / 100


def _chance(*what: str) -> float:
    """A number from 0 to 1 that is always the same for the same texts."""
    return zlib.crc32("\n".join(what).encode()) / 2**32


@lru_cache(maxsize=4)
def _list(text: str) -> list[tuple[int, str]]:
    return [(int(number), row) for number, row in _ROW.findall(text)]


def _lists(prompt: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The numbered rows of both lists of a prompt."""
    parts = dict(re.findall(r"^([AB]):\n((?:\d+\. .*\n?)+)", prompt, re.MULTILINE))
    return _list(parts["A"]), _list(parts["B"])


Script = Callable[[str, Submission], str]
