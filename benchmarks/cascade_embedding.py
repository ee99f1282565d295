"""The proxy `embedding` of `benchmarks.cascades`: logistic regression over word vectors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.cascade_filters import Scores, Truths

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

FIRST = 150  # uniform rows
MORE = (100, 100)  # then rows of which the proxy is unsure, a round each
SHARES = (0.12, 0.07, 0.07)  # of the rows, at most
SCALE = 12.0  # of the unit vectors, beside a prior of variance 1 on the weights
STEPS = 8


def is_installed() -> bool:
    """Whether the extra `embed` is there."""
    return importlib.util.find_spec("wordllama") is not None


def vectors_of(texts: list[str]) -> Vectors:
    """A unit vector for each text, the mean of its tokens' rows: [texts, 256]."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokens = [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    sums = np.stack([weights[ids].sum(0, dtype=np.float32) for ids in tokens])
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9))


def learn(vectors: Vectors, truths: Truths, random: np.random.Generator) -> Scores:
    """Scores of all rows; those whose answers they were learnt from have NaN.

    The first rows are uniform, the next ones near even odds. However they are chosen, no bound rests on them,
    because a row with NaN is in no sampled end.
    """
    num_rows = len(vectors)
    sizes = [min(num, round(share * num_rows)) for num, share in zip((FIRST, *MORE), SHARES, strict=True)]
    asked = random.choice(num_rows, sizes[0], replace=False)
    for num in sizes[1:]:
        scores = _scores(vectors, asked, truths[asked])
        weights = np.sqrt(scores * (1 - scores)) + 1e-6
        weights[asked] = 0
        more = random.choice(num_rows, num, replace=False, p=weights / weights.sum())
        asked = np.concatenate([asked, more])
    scores = _scores(vectors, asked, truths[asked])
    scores[asked] = np.nan
    return scores


def _scores(vectors: Vectors, asked: Rows, answers: Truths) -> Scores:
    """The logistic regression with a normal prior, by Newton's method in the space of the asked rows."""
    rows = np.concatenate([SCALE * vectors[asked], np.full((len(asked), 1), 3.0)], 1).astype(float)
    gram = rows @ rows.T
    dual = np.zeros(len(asked))
    for _ in range(STEPS):
        said = 1 / (1 + np.exp(-np.clip(gram @ dual, -30, 30)))
        bend = np.maximum(said * (1 - said), 1e-4)
        target = gram @ dual + (answers - said) / bend
        dual = np.linalg.solve(gram + np.diag(1 / bend), target)
    weights = rows.T @ dual
    odds = SCALE * (vectors @ weights[:-1].astype(np.float32)) + 3.0 * weights[-1]
    return np.asarray(1 / (1 + np.exp(-np.clip(odds.astype(float), -30, 30))))
