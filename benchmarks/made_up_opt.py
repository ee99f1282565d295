"""OPT-style models of a wanted size with random weights in bfloat16, made in seconds, kept under build/.

Every head has its own keys and values, and positions are learnt and added at the bottom, so that a key is a
linear image of its layer's input: what a hidden cache needs to be attended to without making keys again. They
cost what a trained model of their size costs and know nothing. Their tokenizer is the embedded model's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.provenance import ROOT
from relserve.tiny import MODEL_DIR

FOLDER = ROOT / "build" / "made_up_opt"
VOCABULARY = 8192
HEAD = 64  # numbers of an attention head
POSITIONS = 4096


class OptShape(NamedTuple):
    """Width of a token, and layers; a layer is four times as wide inside, as OPT's are."""

    hidden: int
    layers: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.hidden}x{self.layers}"

    def kv_bytes(self, block_size: int) -> int:
        """What a block of keys and values takes, in bfloat16."""
        return 2 * 2 * self.hidden * self.layers * block_size


def folder_of(shape: OptShape) -> Path:
    """The folder of the model of a shape, made if it is not there; several processes may ask at once."""
    folder = FOLDER / shape.name
    if folder.is_dir():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{shape.name}-", dir=FOLDER))
    try:
        _write(shape, part)
        part.chmod(0o755)
        with suppress(OSError):  # another process was first
            os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _write(shape: OptShape, folder: Path) -> None:
    import torch
    import transformers

    config = transformers.OPTConfig(
        vocab_size=VOCABULARY, hidden_size=shape.hidden, word_embed_proj_dim=shape.hidden,
        ffn_dim=4 * shape.hidden, num_hidden_layers=shape.layers, num_attention_heads=shape.hidden // HEAD,
        max_position_embeddings=POSITIONS, dtype="bfloat16",
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(shape.hidden)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(MODEL_DIR / name, folder / name)
