"""One training step after another, in one process or several, until a plan is carried out."""

import logging
import time
from collections.abc import Callable

import torch
from torch.nn import functional
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.tiny.batches import Batch, BatchStream
from training.tiny.induction import plant_induction
from training.tiny.plan import TrainingPlan, TrainingProgress, export, load_state, note_progress, save_state
from training.tiny.workers import join_workers

logger = logging.getLogger(__name__)

Check = Callable[[LlamaForCausalLM, TrainingProgress], None]


def make_optimizers(model: LlamaForCausalLM, plan: TrainingPlan) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices inside the layers and AdamW for embeddings and norms."""
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    outer = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    return [
        torch.optim.Muon(inner, lr=plan.muon_rate, weight_decay=0.01, adjust_lr_fn="original"),
        torch.optim.AdamW(outer, lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def rate_factor(done: float, step: int, warm_up: int = 50) -> float:
    """Warm up, stay, then fall linearly to 2 % over the last 45 % of training (`done` in 0..1)."""
    return min(1.0, (step + 1) / warm_up) * max(0.02, min(1.0, (1.0 - done) / 0.45))


def batch_loss(model: LlamaForCausalLM, batch: Batch, prompt_share: float, seed: int) -> torch.Tensor:
    """Weighted cross entropy on the answers and on a random share of the prompt positions."""
    hidden = model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
    targets, weights = batch.ids[:, 1:].flatten(), batch.weights[:, 1:].flatten()
    chosen = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed)) < prompt_share
    is_answer = weights > weights.max() * 0.25
    keep = (is_answer | (chosen.to(weights.device) & (weights > 0))).nonzero().squeeze(1)
    logits = model.lm_head(hidden.flatten(0, 1)[keep]).float()
    losses = functional.cross_entropy(logits, targets[keep], reduction="none")
    return (losses * weights[keep]).sum() / weights[keep].sum()


class Trainer:
    """A model in training: `run` takes steps until the plan is done."""

    def __init__(
        self, plan: TrainingPlan, tokenizer: PreTrainedTokenizerFast, stream: BatchStream, resume: bool
    ) -> None:
        self.plan, self.workers, self.tokenizer, self.stream = plan, join_workers(), tokenizer, stream
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(0)
        model = LlamaForCausalLM(plan.config(len(self.tokenizer)))
        plant_induction(model)
        self.model = model.to(self.device).train()
        if plan.compiled:
            self.model.model.compile(dynamic=True)
        self.optimizers = make_optimizers(self.model, plan)
        self.rates = [[group["lr"] for group in one.param_groups] for one in self.optimizers]
        self.at = load_state(plan, self.model, self.optimizers) if resume else TrainingProgress()
        self.loss = 0.0  # moving mean

    def step(self, began: float) -> None:
        """Take one step; `began` is the monotonic time at which training would have begun in one go."""
        at, workers = self.at, self.workers
        batch = self.stream.batch(at.step * workers.count + workers.rank)
        batch = Batch(batch.ids.to(self.device), batch.weights.to(self.device))
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            loss = batch_loss(self.model, batch, self.plan.prompt_share, at.step)
        loss.backward()
        elapsed_s = workers.average(self.model.parameters(), time.monotonic() - began)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        factor = rate_factor(at.share(self.plan), at.step)
        for one, rates in zip(self.optimizers, self.rates, strict=True):
            for group, rate in zip(one.param_groups, rates, strict=True):
                group["lr"] = rate * factor
            one.step()
            one.zero_grad()
        self.at = TrainingProgress(at.step + 1, at.num_tokens + batch.num_tokens * workers.count, elapsed_s)
        self.loss = loss.item() if self.loss == 0.0 else 0.98 * self.loss + 0.02 * loss.item()

    def save(self) -> None:
        """Write the state that `resume` continues from."""
        save_state(self.plan, self.model, self.optimizers, self.at)

    def run(self, check: Check | None = None) -> TrainingProgress:
        """Train until the time or the steps are used up, then export to `plan.out/model`.

        Args:
            check: told of the model after each save, to log how good it is.
        """
        began, saved_at = time.monotonic() - self.at.elapsed_s, time.monotonic()
        is_first = self.workers.rank == 0
        while self.at.share(self.plan) < 1.0:
            self.step(began)
            at = self.at
            if at.step % 20 == 0 and is_first:
                logger.info(
                    "step %d tokens %d loss %.4f s %.0f", at.step, at.num_tokens, self.loss, at.elapsed_s
                )
            if is_first and time.monotonic() - saved_at > self.plan.save_every_s:
                self.save()
                if check is not None:
                    check(self.model, self.at)
                saved_at = time.monotonic()
        if is_first:
            self.save()
            export(self.model, self.tokenizer, self.plan.out / "model")
            note_progress(self.plan, self.at, self.loss)
        return self.at
