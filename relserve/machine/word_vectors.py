"""The vectors of words that another package brings: the default model of llm_embed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from relserve.call.options import WORDS
from relserve.errors import ModelError

NAME = WORDS
PACKAGE = "wordllama"  # looked for and not imported: it would look for its tokenizer elsewhere, and ask a hub
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
EXTRA = "pip install 'relserve[embed]'"


class VectorFiles(NamedTuple):
    """A vector for each token, and what makes tokens of a text."""

    weights: Path
    tokenizer: Path


def find_files() -> VectorFiles:
    """The package's files.

    Raises:
        ModelError: the package is not installed, or is one without these files.
    """
    package = importlib.util.find_spec(PACKAGE)
    for place in map(Path, (package.submodule_search_locations or ()) if package else ()):
        files = VectorFiles(place / WEIGHTS, place / TOKENIZER)
        if all(file.is_file() for file in files):
            return files
    raise ModelError(f"the model {NAME!r} comes with a package that is not installed: {EXTRA}")


def state() -> str:
    """Whether it is installed, in a few words."""
    try:
        return f"installed, {find_files().weights.stat().st_size / 1e6:.0f} MB"
    except ModelError:
        return f"not installed: {EXTRA}"
