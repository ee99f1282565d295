"""Sentiment with the choices in either order: how often debias and prior make it the same, and right.

Balanced beer reviews and shipped reviews, by the embedded model and by one of 135 M parameters: `smollm2`, if
it is converted, or --model. Without the options that gives one label to nearly all rows, by the order.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, data_folder, finish, table
from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.examples import TABLES
from relserve.machine import packaged
from relserve.session.session import Session
from relserve.tiny import MODEL_DIR
from training.tiny.real_rows import beer_sentiment

ROOMS = ("relserve/call", "relserve/session", "relserve/engines/local")
HEADLINE = {
    "tiny_same": Higher(by=0.01), "tiny_right": Higher(by=0.02), "tiny_lost": Lower(by=0.02),
    "model_same": Untold("in full runs"), "model_right": Untold("in full runs"),
    "model_same_before": Untold("in full runs"), "model_right_before": Untold("in full runs"),
}  # fmt: skip

TEMPLATE = "Sentiment of this review: {}"
LABELS = ("positive", "negative")
BEFORE, BOTH = "llm_classify", "debias and prior"
WAYS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BEFORE: ("llm_classify", {}),
    "llm_probs": ("llm_probs", {}),
    "prior": ("llm_probs", {"prior": "empty"}),
    "debias": ("llm_probs", {"debias": 2}),
    BOTH: ("llm_probs", {"debias": 2, "prior": "empty"}),
}
AIMS = "aims: of the 135 M model the same for 0.95 and right for 0.62 of the rows; tiny loses nothing"
ENGINE_ARGS = {"kv_cache_memory_bytes": 1 << 30, "max_model_len": 4096}


class Reviews(NamedTuple):
    """Texts and their true labels."""

    texts: Sequence[str]
    labels: Sequence[str]


class BothOrders(NamedTuple):
    """What one way to ask gives over some reviews, as shares of the rows.

    Attributes:
        same: the answer is the same with either label named first.
        right: it is right, with the positive label first and with the negative one.
        positive: it is the positive label, likewise.
    """

    same: float
    right: tuple[float, float]
    positive: tuple[float, float]


def shipped(num_rows: int) -> Reviews:
    """Reviews of the shipped table, half of them with four stars or more, half with two or less."""
    with TABLES["reviews"].open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["stars"] and row["review"]]
    found: list[tuple[str, str]] = []
    for label in LABELS:
        stars = ("4", "5") if label == "positive" else ("1", "2")
        texts = sorted({row["review"] for row in rows if row["stars"] in stars})
        found += [(text, label) for text in random.Random(35).sample(texts, num_rows // 2)]
    return Reviews(*zip(*found, strict=True))


def beers(num_rows: int) -> Reviews:
    """Real beer reviews, balanced likewise."""
    group = beer_sentiment(num_rows)
    assert group is not None
    return Reviews(group.columns["review"], group.expected)


def answers(session: Session, reviews: Reviews, way: str, choices: Sequence[str]) -> list[str | None]:
    """The label of each review; None for a failed row."""
    function, options = WAYS[way]
    given = parse_options(function, {"choices": list(choices), **options})
    binding = Template.parse(TEMPLATE).bind(1)
    values = session.run(RelQuery(function, binding, [(text,) for text in reviews.texts], given)).values
    return values if function == "llm_classify" else [value and likeliest(value) for value in values]


def likeliest(probabilities: str) -> str:
    """The choice with the greatest probability."""
    found: dict[str, float] = json.loads(probabilities)
    return max(found, key=found.__getitem__)


def in_both_orders(session: Session, reviews: Reviews, way: str) -> BothOrders:
    """Ask with either label first."""
    first, second = (answers(session, reviews, way, choices) for choices in (LABELS, LABELS[::-1]))
    num = len(reviews.labels)
    return BothOrders(
        sum(a == b for a, b in zip(first, second, strict=True)) / num,
        (_share(first, reviews.labels), _share(second, reviews.labels)),
        (first.count("positive") / num, second.count("positive") / num),
    )


def _share(found: Sequence[str | None], labels: Sequence[str]) -> float:
    return sum(a == b for a, b in zip(found, labels, strict=True)) / len(labels)


def measured(name: str, path: Path, tables: Mapping[str, Reviews]) -> dict[tuple[str, str], BothOrders]:
    """By table and way, of one model, whose engine is started and ended."""
    engine = LocalEngine(name, str(path), engine_args=ENGINE_ARGS)
    with tempfile.TemporaryDirectory(prefix="relserve-bias-") as folder:
        cache = AnswerCache(Path(folder, FILE_NAME), 2**26, print)
        session = Session(lambda model: engine, cache=cache)
        try:
            return {
                (each, way): in_both_orders(session, reviews, way)
                for each, reviews in tables.items() for way in WAYS
            }  # fmt: skip
        finally:
            cache.close()
            spawn(engine.close()).result()


def headline(name: str, found: Mapping[tuple[str, str], BothOrders]) -> dict[str, float]:
    """Means over the tables: with both options, and before."""
    tables = sorted({each for each, _ in found})

    def mean(way: str, what: str) -> float:
        values = [getattr(found[each, way], what) for each in tables]
        each = [value if isinstance(value, float) else sum(value) / 2 for value in values]
        return round(sum(each) / len(each), 3)

    told = {f"{name}_{what}": mean(BOTH, what) for what in ("same", "right")}
    if name == "tiny":
        return told | {"tiny_lost": round(mean(BEFORE, "right") - told["tiny_right"], 3)}
    return told | {f"{name}_{what}_before": mean(BEFORE, what) for what in ("same", "right")}


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    own = packaged.folder() if packaged.is_converted() else None
    parser.add_argument("--model", type=Path, default=own, help="folder of the larger model (smollm2's)")
    args = parser.parse_args()
    data_folder()
    num_rows = 40 if args.quick else 200
    tables = {"beer": beers(num_rows), "shipped": shipped(num_rows)}
    models = {"tiny": MODEL_DIR} | ({"model": args.model} if args.model and not args.quick else {})
    told, lines = {}, []
    for name, path in models.items():
        found = measured(name, path, tables)
        told |= headline(name, found)
        lines += [
            [name, *key, each.same, *each.right, *each.positive] for key, each in found.items()
        ]  # fmt: skip
    columns = [
        "model", "reviews", "asked by", "same in both orders", "right", "right, negative first",
        "said positive", "said positive, negative first",
    ]  # fmt: skip
    print(table(columns, lines))
    print(AIMS)
    finish("decision_bias", told, {"columns": columns, "rows": lines, "template": TEMPLATE}, args.quick)


if __name__ == "__main__":
    main()
