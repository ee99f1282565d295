"""The time of a filter by a larger model, with and without a cascade.

Real texts and engines: `smollm2`, if it is converted, or --model as the larger one. The proxy is learnt from
word vectors and words, or is tiny with --proxy tiny. `auc` says how well these foresee the larger model's
answers, by a logistic regression that has seen 90 % of the others: 0.5 is chance. A cascade saves time only
where it is high, and small models often answer by a question's words more than by its text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cascade_embedding import numbers_of
from benchmarks.cascade_filters import QUESTIONS, auc, filters
from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, data_folder, finish, table
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.engines.word_vectors import WordVectorEngine
from relserve.machine import packaged
from relserve.machine.word_vectors import NAME as WORD_VECTORS
from relserve.policies.cascading.learnt import VARIANCE
from relserve.session.session import Session
from relserve.tiny import MODEL_DIR

ROOMS = ("relserve/policies/cascading", "relserve/session", "relserve/engines/local")
HEADLINE = {
    "plain_over_cascade": Higher(by=0.2), "asked_share": Lower(by=0.1),
    "precision": Higher(by=0.05), "recall": Higher(by=0.05), "auc": Untold("of the larger model's answers"),
}  # fmt: skip

LARGE, SMALL = "large", "tiny"
TARGET = 0.9  # precision and recall
AIMS = f"aims: half the time, precision and recall of {TARGET}"
ENGINE_ARGS = {"kv_cache_memory_bytes": 1 << 30, "max_model_len": 2048}


class FilterRun(NamedTuple):
    """A filter over all rows: what passed, prompts that the larger model answered, and seconds."""

    values: Sequence[bool | None]
    num_asked: int
    seconds: float


def run(session: Session, question: str, texts: Sequence[str], options: dict[str, Any]) -> FilterRun:
    """Ask about the texts; nothing is kept from one run to the next."""
    template = Template.parse(question)
    given = parse_options("llm_filter", {"model": LARGE, **options})
    start_s = time.perf_counter()
    result = session.run(RelQuery("llm_filter", template.bind(1), [(text,) for text in texts], given))
    seconds = time.perf_counter() - start_s
    asked = [each for each in session.history.queries() if each.function == "llm_filter"]
    return FilterRun(result.values, asked[-1].num_distinct, seconds)


def compared(plain: FilterRun, cascade: FilterRun) -> dict[str, float]:
    """The headline: the larger model's own answers are the truth."""
    kept = {i for i, value in enumerate(cascade.values) if value}
    true = {i for i, value in enumerate(plain.values) if value}
    return {
        "plain_over_cascade": round(plain.seconds / cascade.seconds, 2),
        "asked_share": round(cascade.num_asked / plain.num_asked, 3),
        "precision": round(len(kept & true) / max(1, len(kept)), 3),
        "recall": round(len(kept & true) / max(1, len(true)), 3),
    }


def foreseen(texts: Sequence[str], values: Sequence[bool | None]) -> float:
    """How well word vectors and words foresee answers: the AUC of rows that were not learnt from.

    NaN where nearly all answers are the same.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    truths = np.array([value is True for value in values])
    folds = min(10, int(truths.sum()), int((~truths).sum()))
    if folds < 2:
        return float("nan")
    regression = LogisticRegression(C=VARIANCE, max_iter=1000)
    numbers = numbers_of(list(texts)).numbers
    return auc(cross_val_predict(regression, numbers, truths, cv=folds, method="predict_proba")[:, 1], truths)


def measured(model: Path, question: str, texts: Sequence[str], options: dict[str, Any]) -> FilterRun:
    """One way of asking, with engines of its own, so that neither finds the other's prefixes; up and warm."""
    engines: dict[str, Engine] = {
        LARGE: LocalEngine(LARGE, str(model), engine_args=ENGINE_ARGS),
        SMALL: LocalEngine(SMALL, str(MODEL_DIR), engine_args=ENGINE_ARGS),
        WORD_VECTORS: WordVectorEngine(),
    }
    find: Callable[[str | None], Engine] = lambda name: engines[name or LARGE]  # noqa: E731
    session = Session(find)
    try:
        run(session, question, [f"{text}." for text in texts[:64]], options)
        return run(session, question, texts, options)
    finally:
        for engine in engines.values():
            spawn(engine.close()).result()


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    own = packaged.folder() if packaged.is_converted() else MODEL_DIR
    parser.add_argument("--model", type=Path, default=own, help="folder of the larger model (smollm2's)")
    parser.add_argument("--proxy", choices=("embedding", SMALL), default="embedding", help="decides first")
    names = [f"{each.table} {each.name}" for each in QUESTIONS]
    parser.add_argument("--filter", choices=names, default="amazon electronics", help="what is asked")
    args = parser.parse_args()
    num_rows = 200 if args.quick else 3000
    found = filters(data_folder() / "tables", num_rows, [args.filter.partition(" ")[0]])
    each = next(each for each in found if each.name == args.filter)
    targets = {"cascade": args.proxy, "precision": TARGET, "recall": TARGET}
    question = each.question.replace("{text}", "{}")
    plain, cascade = (measured(args.model, question, each.texts, options) for options in ({}, targets))
    columns = ["filter", "prompts of the larger model", "rows that pass", "seconds"]
    rows = [
        [name, one.num_asked, sum(map(bool, one.values)), one.seconds]
        for name, one in (("plain", plain), ("cascade", cascade))
    ]
    print(table(columns, rows))
    print(AIMS)
    asked = {"model": args.model.name, "filter": each.name, "proxy": args.proxy}
    details = {**asked, "columns": columns, "rows": rows}
    headline = {**compared(plain, cascade), "auc": round(foreseen(each.texts, plain.values), 2)}
    finish("cascade_time", headline, details, args.quick)


if __name__ == "__main__":
    main()
