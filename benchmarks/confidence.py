"""min_confidence: a choice's probability against the sum over all its spellings, and how often it is right.

For two and twelve choices, on the embedded model and on a made-up one of 262,144 tokens, what the engine
reports is compared with brute force (`spelled_out.py`). Real reviews with known sentiment show what share of
the answers given a probability is right.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.claims import Higher, Lower
from benchmarks.common import arguments, finish, table
from benchmarks.spelled_out import BruteForce
from benchmarks.zoo import build
from relserve.call.answer_types import ChoiceAnswer
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.engines.local.choice_search import ChoiceSearch
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.prompts import load_encoder
from relserve.engines.loop import spawn
from relserve.examples import TABLES
from relserve.tiny import MODEL_DIR
from training.tiny.real_rows import amazon_sentiment, beer_sentiment

ROOMS = ("relserve/engines/local", "relserve/call")
HEADLINE = {
    "largest_error": Lower(by=0.0001), "sum_off_one": Lower(by=0.0001), "best_choice": Higher(),
    "requests_a_row": Lower(0.1), "calibration_error_amazon": Lower(by=0.02),
    "calibration_error_beer": Lower(by=0.02), "sure_right_amazon": Higher(by=0.02),
    "sure_right_beer": Higher(by=0.02),
}  # fmt: skip

TWO = ("good", "bad")
TWELVE = (
    "cost", "food", "room", "bar", "crew", "late", "cold", "warm", "rude", "kind", "mess", "else"
)  # fmt: skip
BUCKETS = 10
MAX_CHARS = 400  # of a text: a made-up tokenizer cuts real words into letters
ENGINE_ARGS = {"max_model_len": 2048, "dtype": "float32"}


def shipped_texts() -> list[str]:
    """Reviews, tickets and beers of the shipped tables, shuffled, without the longest."""
    texts = []
    for name in ("reviews", "tickets", "beers"):
        with TABLES[name].open(encoding="utf-8", newline="") as file:
            texts += [max(row.values(), key=len) for row in csv.DictReader(file)]
    texts = [text for text in texts if len(text) <= MAX_CHARS]
    random.Random(12).shuffle(texts)
    return texts


def prompts_of(texts: Sequence[str], choices: Sequence[str], question: str) -> list[str]:
    """As llm_classify asks."""
    return [f"{ChoiceAnswer(tuple(choices)).instruction}\n{question} {text}" for text in texts]


def replies_of(engine: LocalEngine, prompts: Sequence[str], choices: Sequence[str]) -> list[Reply]:
    """The reply to each prompt, with its probability."""
    kind = ChoiceAnswer(tuple(choices))
    sampling = Sampling(kind.default_max_tokens, grammar=kind.grammar, with_confidence=True)

    async def collect() -> list[Reply]:
        stream = engine.answer(Submission(new_rel_id(), prompts, sampling))
        return [reply async for batch in stream for reply in batch]

    return sorted(spawn(collect()).result(), key=lambda reply: reply.index)


@contextmanager
def distributions() -> Iterator[list[list[float]]]:
    """The probabilities of all choices of each row that is asked meanwhile."""
    found: list[list[float]] = []
    tell = ChoiceSearch.probabilities

    def noted(search: ChoiceSearch) -> list[float] | None:
        told = tell(search)
        found.append(told or [])
        return told

    with patch.object(ChoiceSearch, "probabilities", noted):
        yield found


@contextmanager
def engine_of(name: str, path: Path) -> Iterator[LocalEngine]:
    """An engine, which is ended with the block."""
    engine = LocalEngine(name, str(path), engine_args=ENGINE_ARGS)
    try:
        yield engine
    finally:
        spawn(engine.close()).result()


def compare(
    engine: LocalEngine, name: str, path: Path, choices: Sequence[str], texts: Sequence[str]
) -> dict[str, Any]:
    """What the engine reports of one model and set of choices against brute force."""
    prompts = prompts_of(texts, choices, "What is this about?")
    with distributions() as found:
        replies = replies_of(engine, prompts, choices)
    encoder = load_encoder(str(path))
    assert encoder is not None
    brute = BruteForce(path, choices)
    wrong_by, is_best = [], 0
    for reply, ids in zip(replies, encoder.encode(prompts, None), strict=True):
        assert reply.confidence is not None, reply.failure
        true, _ = brute.probabilities(ids)
        wrong_by.append(abs(true[choices.index(reply.text or "")] - reply.confidence))
        is_best += reply.confidence >= max(true) - 1e-3
    return {
        "model": name, "choices": len(choices), "rows": len(prompts), "spellings": brute.num_spellings,
        "requests_a_row": sum(reply.usage.output_tokens for reply in replies) / len(replies),
        "largest_error": max(wrong_by),
        "sum_off_one": max(abs(sum(each) - 1) for each in found),
        "best_choice": is_best / len(prompts),
    }  # fmt: skip


def calibration(engine: LocalEngine, name: str, group: Any) -> dict[str, Any]:
    """How often the answers of the embedded model are right, by the probability that they are given."""
    (texts,) = group.columns.values()
    prompts = prompts_of(texts, group.choices, "Classify the sentiment of this review:")
    replies = replies_of(engine, prompts, group.choices)
    pairs = [
        (reply.confidence, reply.text == label)
        for reply, label in zip(replies, group.expected, strict=True)
        if reply.confidence is not None
    ]
    lines, gap = [], 0.0
    for i in range(BUCKETS):
        low, high = i / BUCKETS, (i + 1) / BUCKETS
        inside = [(p, right) for p, right in pairs if low < p <= high]
        if inside:
            told, right = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            lines.append([f"{low:.1f} to {high:.1f}", len(inside), told, right])
            gap += len(inside) / len(pairs) * abs(told - right)
    sure = [right for p, right in pairs if p > 0.9]
    return {
        "table": name, "rows": len(pairs), "right": sum(right for _, right in pairs) / len(pairs),
        "calibration_error": gap, "sure": len(sure) / len(pairs),
        "sure_right": sum(sure) / max(len(sure), 1), "buckets": lines,
    }  # fmt: skip


def plot(path: Path, measured: Sequence[dict[str, Any]]) -> None:
    """Share of right answers against the probability reported."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5))
    axes.plot([0.5, 1], [0.5, 1], "k:", label="as sure as right")
    for each in measured:
        told, right = ([line[i] for line in each["buckets"]] for i in (2, 3))
        axes.plot(told, right, "o-", label=f"tiny on {each['table']} reviews ({each['rows']})")
    axes.set(xlabel="probability reported", ylabel="share of answers that are right", ylim=(0, 1.02))
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    """Print both tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    texts, num_rows = (shipped_texts()[:4], 100) if args.quick else (shipped_texts()[:250], 500)
    loaded = {"amazon": amazon_sentiment(num_rows), "beer": beer_sentiment(num_rows)}
    with engine_of("tiny", MODEL_DIR) as engine:
        compared = [compare(engine, "tiny", MODEL_DIR, choices, texts) for choices in (TWO, TWELVE)]
        calibrated = [calibration(engine, name, group) for name, group in loaded.items() if group is not None]
    if not args.quick:
        path = build("gemma3")
        with engine_of("gemma3", path) as engine:
            compared += [compare(engine, "gemma3", path, choices, texts) for choices in (TWO, TWELVE)]
    columns = list(compared[0])
    print(table(columns, [list(each.values()) for each in compared]), "\n")
    for each in calibrated:
        print(f"tiny on {each['table']} reviews")
        print(table(["probability", "rows", "mean probability", "share right"], each["buckets"]), "\n")
    headline = {
        "largest_error": max(each["largest_error"] for each in compared),
        "sum_off_one": max(each["sum_off_one"] for each in compared),
        "best_choice": min(each["best_choice"] for each in compared),
        "requests_a_row": max(each["requests_a_row"] for each in compared),
        **{f"calibration_error_{each['table']}": round(each["calibration_error"], 3) for each in calibrated},
        **{f"sure_right_{each['table']}": round(each["sure_right"], 3) for each in calibrated},
    }
    details = {"compared": compared, "calibrated": calibrated}
    finish("confidence", headline, details, args.quick, lambda path: plot(path, calibrated))


if __name__ == "__main__":
    main()
