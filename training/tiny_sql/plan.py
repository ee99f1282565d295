"""How the model for text2sql is trained, and what its folder holds."""

import json
from pathlib import Path

from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.tiny.plan import TrainingPlan, TrainingProgress, export, load_state
from training.tiny.trainer import make_optimizers
from training.tiny_sql.tokenizer import VOCAB_SIZE

MARK_FILE = "text2sql.json"
MARK = {"writes": "handles"}
# The compiled model is compiled anew for batches on the other side of 4,096 tokens, which takes a minute.
SQL_PLAN = TrainingPlan(
    Path(), batch_tokens=3328, prompt_share=0.06, easy_pools=0, intermediate=640, vocab=VOCAB_SIZE,
    tokenizer_examples=6000, save_every_s=120.0, compiled=True,
)  # fmt: skip


def mark(folder: Path) -> None:
    """Put the file into a model's folder that tells text2sql() how the model answers."""
    (folder / MARK_FILE).write_text(json.dumps(MARK) + "\n", encoding="utf-8")


def export_state(plan: TrainingPlan, tokenizer: PreTrainedTokenizerFast) -> TrainingProgress:
    """Export the last saved state to `plan.out/model`, also while the run goes on."""
    model = LlamaForCausalLM(plan.config(len(tokenizer)))  # type: ignore[no-untyped-call]
    at = load_state(plan, model, make_optimizers(model, plan))
    export(model, tokenizer, plan.out / "model")
    mark(plan.out / "model")
    return at
