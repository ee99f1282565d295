"""What a training run is asked to do and how far it is; saving and exporting."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from training.tiny.tokenizer import MAX_LENGTH, VOCAB_SIZE


@dataclass(frozen=True)
class TrainingPlan:
    """How to train. `minutes` counts the time over all resumed runs; `max_steps` 0 means no limit."""

    out: Path
    minutes: float = 60.0
    max_steps: int = 0
    batch_tokens: int = 3072  # of each worker
    learning_rate: float = 2e-3
    muon_rate: float = 7e-3
    prompt_weight: float = 0.05
    prompt_share: float = 0.15
    easy_pools: int = 130
    seed: str = "train"
    hidden: int = 256
    layers: int = 4
    heads: int = 4
    intermediate: int = 704
    vocab: int = VOCAB_SIZE
    tokenizer_examples: int = 60000
    save_every_s: float = 90.0
    compiled: bool = False  # takes a C++ compiler and a minute, and trains two fifths faster on a CPU

    def config(self, vocab: int) -> LlamaConfig:
        """Return the Llama configuration: a key and value head for each query head, tied embeddings."""
        return LlamaConfig(
            vocab_size=vocab, hidden_size=self.hidden, intermediate_size=self.intermediate,
            num_hidden_layers=self.layers, num_attention_heads=self.heads, num_key_value_heads=self.heads,
            head_dim=self.hidden // self.heads, max_position_embeddings=MAX_LENGTH, tie_word_embeddings=True,
            bos_token_id=1, eos_token_id=2, pad_token_id=0,
        )  # fmt: skip


@dataclass(frozen=True)
class TrainingProgress:
    """Where training stands."""

    step: int = 0
    num_tokens: int = 0
    elapsed_s: float = 0.0

    def share(self, plan: TrainingPlan) -> float:
        """Return the part of the plan that is done, 1 or more at its end."""
        by_steps = self.step / plan.max_steps if plan.max_steps else 0.0
        return max(by_steps, self.elapsed_s / (60.0 * plan.minutes))


def save_state(
    plan: TrainingPlan, model: LlamaForCausalLM, optimizers: list[Any], at: TrainingProgress
) -> None:
    """Write the state beside itself first, so that a kill never leaves half a file."""
    states = [one.state_dict() for one in optimizers]
    part = plan.out / "state.part"
    torch.save({"model": model.state_dict(), "optimizers": states, "progress": asdict(at)}, part)
    os.replace(part, plan.out / "state.pt")


def load_state(plan: TrainingPlan, model: LlamaForCausalLM, optimizers: list[Any]) -> TrainingProgress:
    """Restore model and optimizers from the saved state, if there is one; return the progress."""
    file = plan.out / "state.pt"
    if not file.exists():
        return TrainingProgress()
    device = next(model.parameters()).device
    state = torch.load(file, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    for one, saved in zip(optimizers, state["optimizers"], strict=True):
        one.load_state_dict(saved)
    return TrainingProgress(**state["progress"])


def export(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write the model in bf16 safetensors with tokenizer and generation settings."""
    half = LlamaForCausalLM(model.config)  # type: ignore[no-untyped-call]
    half.load_state_dict(model.state_dict())
    half.generation_config.update(  # type: ignore[no-untyped-call]
        do_sample=False, max_new_tokens=64, bos_token_id=1, eos_token_id=2, pad_token_id=0
    )
    half.bfloat16().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        file.chmod(0o644)


def note_progress(plan: TrainingPlan, at: TrainingProgress, loss: float) -> None:
    """Write steps, tokens, seconds and loss to `progress.json`."""
    record = {**asdict(at), "loss": round(loss, 4)}
    (plan.out / "progress.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
