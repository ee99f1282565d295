"""Train the embedded model: `python -m relserve.tiny.train --out DIR --minutes N [--resume]`."""

import argparse
import json
import logging
import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from relserve.tiny.batches import Batch, Stream
from relserve.tiny.tokenizer import MAX_LENGTH, VOCAB_SIZE, corpus_texts, load_tokenizer, train_tokenizer
from relserve.tiny.workers import join_workers

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How to train. `minutes` counts the time over all resumed runs; `max_steps` 0 means no limit."""

    out: Path
    minutes: float = 60.0
    max_steps: int = 0
    batch_tokens: int = 8192
    learning_rate: float = 3e-3
    muon_rate: float = 0.02
    prompt_weight: float = 0.05
    prompt_share: float = 0.15
    easy_pools: int = 420
    seed: str = "train"
    hidden: int = 256
    layers: int = 5
    heads: int = 4
    intermediate: int = 704
    vocab: int = VOCAB_SIZE
    tokenizer_examples: int = 60000
    save_every_s: float = 180.0


@dataclass(frozen=True)
class Progress:
    """Where training stands."""

    step: int = 0
    num_tokens: int = 0
    elapsed_s: float = 0.0


def model_config(plan: Plan, vocab: int) -> LlamaConfig:
    """Return the Llama configuration: as many key and value heads as query heads, tied embeddings."""
    return LlamaConfig(
        vocab_size=vocab, hidden_size=plan.hidden, intermediate_size=plan.intermediate,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads, num_key_value_heads=plan.heads, head_dim=plan.hidden // plan.heads,
        max_position_embeddings=MAX_LENGTH, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2,
        pad_token_id=0,
    )  # fmt: skip


def make_optimizers(model: LlamaForCausalLM, plan: Plan) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    outer = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    return [
        torch.optim.Muon(inner, lr=plan.muon_rate, weight_decay=0.01, adjust_lr_fn="original"),
        torch.optim.AdamW(outer, lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def rate_factor(done: float, step: int, warm_up: int = 50) -> float:
    """Warm up, stay, then fall linearly to 2 % over the last 45 % of training (`done` in 0..1)."""
    return min(1.0, (step + 1) / warm_up) * max(0.02, min(1.0, (1.0 - done) / 0.45))


def batch_loss(
    model: LlamaForCausalLM, batch: Batch, prompt_share: float, generator: torch.Generator
) -> torch.Tensor:
    """Weighted cross entropy on the answers and on a random share of the prompt positions."""
    hidden = model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
    targets, weights = batch.ids[:, 1:].flatten(), batch.weights[:, 1:].flatten()
    top = weights.max() * 0.25
    chosen = torch.rand(weights.shape, generator=generator) < prompt_share
    keep = ((weights > top) | (chosen.to(weights.device) & (weights > 0))).nonzero().squeeze(1)
    logits = model.lm_head(hidden.flatten(0, 1)[keep]).float()
    losses = functional.cross_entropy(logits, targets[keep], reduction="none")
    return (losses * weights[keep]).sum() / weights[keep].sum()


def save_checkpoint(
    plan: Plan, model: LlamaForCausalLM, optimizers: list[torch.optim.Optimizer], at: Progress
) -> None:
    """Write the training state beside itself first, so that a kill never leaves half a file."""
    state = {
        "model": model.state_dict(),
        "optimizers": [one.state_dict() for one in optimizers],
        "progress": vars(at),
    }
    part = plan.out / "state.part"
    torch.save(state, part)
    os.replace(part, plan.out / "state.pt")


def export(model: LlamaForCausalLM, tokenizer, folder: Path) -> None:
    """Write the model in bf16 safetensors with tokenizer and generation settings."""
    half = LlamaForCausalLM(model.config)
    half.load_state_dict(model.state_dict())
    half = half.to(torch.bfloat16)
    half.generation_config.update(
        do_sample=False, max_new_tokens=64, bos_token_id=1, eos_token_id=2, pad_token_id=0
    )
    half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def prepare(plan: Plan, resume: bool, device: torch.device):
    """Return model, tokenizer, optimizers and progress, fresh or from the saved state."""
    plan.out.mkdir(parents=True, exist_ok=True)
    state_file, folder = plan.out / "state.pt", plan.out / "tokenizer"
    if not folder.exists():
        train_tokenizer(corpus_texts(plan.tokenizer_examples), plan.vocab).save_pretrained(folder)
    tokenizer = load_tokenizer(folder)
    torch.manual_seed(0)
    model = LlamaForCausalLM(model_config(plan, len(tokenizer))).to(device)
    optimizers = make_optimizers(model, plan)
    at = Progress()
    if resume and state_file.exists():
        state = torch.load(state_file, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        for one, saved in zip(optimizers, state["optimizers"], strict=True):
            one.load_state_dict(saved)
        at = Progress(**state["progress"])
    return model, tokenizer, optimizers, at


def train(plan: Plan, resume: bool = False) -> Progress:
    """Train until the time or the steps are used up, then export to `plan.out/model`."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    workers = join_workers()
    model, tokenizer, optimizers, at = prepare(plan, resume, device)
    base_rates = [[group["lr"] for group in one.param_groups] for one in make_optimizers(model, plan)]
    stream = Stream(tokenizer, plan.seed, plan.batch_tokens, plan.prompt_weight, plan.easy_pools)
    generator = torch.Generator().manual_seed(at.step)
    began, saved_at, mean = time.monotonic() - at.elapsed_s, time.monotonic(), 0.0
    model.train()
    while (done := _done(plan, at)) < 1.0:
        batch = stream.batch(at.step * workers.count + workers.rank)
        batch = Batch(batch.ids.to(device), batch.weights.to(device))
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = batch_loss(model, batch, plan.prompt_share, generator)
        loss.backward()
        elapsed_s = workers.average(model.parameters(), time.monotonic() - began)
        factor = rate_factor(done, at.step)
        update(model, optimizers, base_rates, factor)
        at = Progress(at.step + 1, at.num_tokens + batch.num_tokens * workers.count, elapsed_s)
        mean = loss.item() if mean == 0.0 else 0.98 * mean + 0.02 * loss.item()
        if at.step % 20 == 0 and workers.rank == 0:
            logger.info(
                "step %d tokens %d loss %.4f rate %.3f s %.0f",
                at.step,
                at.num_tokens,
                mean,
                factor,
                at.elapsed_s,
            )
        if time.monotonic() - saved_at > plan.save_every_s and workers.rank == 0:
            save_checkpoint(plan, model, optimizers, at)
            saved_at = time.monotonic()
    if workers.rank == 0:
        save_checkpoint(plan, model, optimizers, at)
        export(model, tokenizer, plan.out / "model")
        (plan.out / "progress.json").write_text(json.dumps({**vars(at), "loss": round(mean, 4)}) + "\n")
    return at


def update(
    model: LlamaForCausalLM, optimizers: list[torch.optim.Optimizer], rates: list[list[float]], factor: float
) -> None:
    """Take one step with the base rates scaled by `factor`."""
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for one, base in zip(optimizers, rates, strict=True):
        for group, rate in zip(one.param_groups, base, strict=True):
            group["lr"] = rate * factor
        one.step()
        one.zero_grad()


def _done(plan: Plan, at: Progress) -> float:
    by_steps = at.step / plan.max_steps if plan.max_steps else 0.0
    return max(
        by_steps, at.elapsed_s / (60.0 * plan.minutes), 0.0 if math.isfinite(plan.minutes) else by_steps
    )


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for checkpoints and the exported model"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="training time, over all resumed runs")
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: no limit)")
    parser.add_argument("--layers", type=int, default=Plan.layers)
    parser.add_argument("--batch-tokens", type=int, default=Plan.batch_tokens)
    parser.add_argument("--resume", action="store_true", help="continue from the saved state")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads; on a shared machine start processes instead"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = replace(
        Plan(args.out),
        minutes=args.minutes,
        max_steps=args.steps,
        layers=args.layers,
        batch_tokens=args.batch_tokens,
    )
    train(plan, args.resume)


if __name__ == "__main__":
    main()
