"""Made-up models as folders that vLLM and transformers load, kept in build/zoo until their recipe changes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.provenance import ROOT
from benchmarks.zoo.pieces import SEED
from benchmarks.zoo.recipes import RECIPES, Recipe
from relserve.tiny import MODEL_DIR

FOLDER = ROOT / "build" / "zoo"
HERE = Path(__file__).parent
SPREAD = 0.3  # of the weights: so large that what is said depends on the prompt
LONGER_END, LONGER_IN_JSON = 2.5, 5.0


def build(name: str) -> Path:
    """The folder of a made-up model, made if it is not there; several processes may ask at once.

    Raises:
        KeyError: there is no such model.
    """
    recipe = RECIPES[name]
    folder = FOLDER / f"{name}-{recipe_hash(recipe)}"
    if folder.is_dir():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=FOLDER))
    try:
        _write(recipe, part)
        part.chmod(0o755)
        with suppress(OSError):  # another process was first
            os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def recipe_hash(recipe: Recipe) -> str:
    """Differs where anything does that a model is made of."""
    sources = [*sorted(HERE.glob("*.py")), *sorted(HERE.glob("templates/*")), MODEL_DIR / "tokenizer.json"]
    versions = [importlib.metadata.version(each) for each in ("transformers", "tokenizers")]
    digest = hashlib.sha256(repr((recipe, versions)).encode())
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def megabytes(folder: Path) -> float:
    """What the files take."""
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def _write(recipe: Recipe, folder: Path) -> None:
    import torch
    import transformers

    tokenizer = _tokenizer(recipe)
    tokenizer.save_pretrained(folder)
    _compact(folder / "tokenizer.json")
    ends = [tokenizer.convert_tokens_to_ids(text) for text in recipe.eos]
    tokens = dict(bos_token_id=tokenizer.bos_token_id, pad_token_id=tokenizer.pad_token_id)
    config = getattr(transformers, recipe.config)(
        vocab_size=recipe.vocab_size, tie_word_embeddings=True, initializer_range=SPREAD, dtype="bfloat16",
        eos_token_id=ends[0], **tokens, **recipe.fields,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        for name, weight in model.named_parameters():
            if name.endswith("weight") and weight.dim() > 1:
                torch.nn.init.normal_(weight, std=SPREAD)
        # One long row, and a model of 16 numbers a token says that token for ever; so the long ones are those
        # that end a reply, and a text and a list in JSON, which come soon, as they do from trained models.
        rows = model.get_input_embeddings().weight.data
        rows *= SPREAD * rows.shape[1] ** 0.5 / rows.norm(dim=1, keepdim=True)
        rows[ends] *= LONGER_END
        rows[tokenizer.convert_tokens_to_ids(['"', '"]'])] *= LONGER_IN_JSON
    model.generation_config = transformers.GenerationConfig(
        do_sample=bool(recipe.sampling), eos_token_id=ends if len(ends) > 1 else ends[0],
        **tokens, **recipe.sampling,
    )  # fmt: skip
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)


def _compact(path: Path) -> None:
    """Half as many bytes without the indentation."""
    read = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(read, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _tokenizer(recipe: Recipe) -> Any:
    from transformers import PreTrainedTokenizerFast

    named = dict(bos_token=recipe.tokenizer.bos, pad_token=recipe.pad, eos_token=recipe.eos[0])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=recipe.tokenizer.make(), clean_up_tokenization_spaces=False,
        model_max_length=recipe.fields["max_position_embeddings"],
        **{name: text for name, text in named.items() if text},
    )  # fmt: skip
    if recipe.template:
        tokenizer.chat_template = (HERE / "templates" / recipe.template).read_text(encoding="utf-8")
    return tokenizer
