"""How many rows a cascade likely asks, before anything is known: by a run with a made-up proxy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from relserve.policies.cascading.accuracy import AccuracyCascade
from relserve.policies.cascading.learnt import FIRST, MORE, SHARES
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import DEFAULT, make

AUC = 0.95
DISTANCE = 2.33  # of the evidence for true and for false rows, at which a proxy has this AUC
SHARE_TRUE = 0.3
SURE = 0.9  # of a label, in the mean
MOST = 5_000  # made-up rows; of more the share is taken as the same


def num_learnt(num_rows: int) -> int:
    """Rows that a proxy is learnt from."""
    return sum(min(num, round(share * num_rows)) for num, share in zip((FIRST, *MORE), SHARES, strict=True))


@lru_cache(maxsize=256)
def asked_of_filter(num_rows: int, targets: Targets) -> int:
    """Rows of a filter that the large model answers, if the proxy is calibrated and has the AUC `AUC`."""
    num = min(num_rows, MOST)
    random = np.random.default_rng(0)
    truths = random.random(num) < SHARE_TRUE
    evidence = DISTANCE * (random.normal(size=num) + DISTANCE * (truths - 0.5))
    scores = 1 / (1 + np.exp(-np.log(SHARE_TRUE / (1 - SHARE_TRUE)) - evidence))
    cascade, answers = make(DEFAULT, targets, 0), dict[int, bool]()
    while rows := cascade.rows_to_ask(scores, answers):
        answers |= {row: bool(truths[row]) for row in rows}
    return round(len(answers) * num_rows / max(1, num))


@lru_cache(maxsize=256)
def asked_of_labels(num_rows: int, accuracy: float, confidence: float) -> int:
    """Rows of a classification that the large model answers, if the proxy is right in 0.9 of the rows."""
    num = min(num_rows, MOST)
    random = np.random.default_rng(0)
    sure = random.beta(SURE / (1 - SURE), 1, num)
    right = (random.random(num) < sure).tolist()
    cascade, answers = AccuracyCascade(accuracy, confidence, 0), dict[int, bool]()
    while rows := cascade.rows_to_ask([True] * num, sure, answers):
        answers |= {row: right[row] for row in rows}
    return round(len(answers) * num_rows / max(1, num))
