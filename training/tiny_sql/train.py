"""Train the model for text2sql: `python -m training.tiny_sql.train --out DIR --minutes N [--resume]`.

Two processes of one thread, on two CPU cores: `python -m torch.distributed.run --nproc-per-node 2 -m
training.tiny_sql.train ..`. Frames that the corpus gained meanwhile are picked up by a run that resumes.
"""

import argparse
import logging
from dataclasses import replace
from pathlib import Path

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.tiny.plan import TrainingPlan, TrainingProgress
from training.tiny.tokenizer import tokenizer_in
from training.tiny.trainer import Trainer
from training.tiny_sql.answering import share_told
from training.tiny_sql.batches import corpus_texts, evaluation_set, stream
from training.tiny_sql.plan import SQL_PLAN, export_state, mark
from training.tiny_sql.tokenizer import train_tokenizer

logger = logging.getLogger(__name__)

EVALUATED = 150  # questions of each set, in the log


def tokenizer_of(plan: TrainingPlan) -> PreTrainedTokenizerFast:
    """The run's tokenizer, trained where there is none."""
    return tokenizer_in(
        plan.out / "tokenizer", lambda: train_tokenizer(corpus_texts(plan.tokenizer_examples), plan.vocab)
    )


def train(plan: TrainingPlan, resume: bool = False) -> TrainingProgress:
    """Carry a plan out; with `resume` from the saved state on. The log tells how many answers are right."""
    tokenizer = tokenizer_of(plan)
    sets = {held_out: evaluation_set(tokenizer, EVALUATED, held_out) for held_out in (False, True)}

    def check(model: LlamaForCausalLM, at: TrainingProgress) -> None:
        told, new = share_told(model, sets[False]), share_told(model, sets[True])
        logger.info("step %d right %.3f, over new schemas %.3f", at.step, told, new)

    trainer = Trainer(plan, tokenizer, stream(tokenizer, plan), resume)
    at = trainer.run(check)
    if trainer.workers.rank == 0:
        mark(plan.out / "model")
    return at


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description="Train the embedded model for text2sql.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the state and the exported model")
    parser.add_argument(
        "--minutes", type=float, default=TrainingPlan.minutes, help="time over all resumed runs"
    )
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: no limit)")
    parser.add_argument("--eager", action="store_true", help="do not compile: for short runs")
    parser.add_argument("--resume", action="store_true", help="continue from the saved state")
    parser.add_argument("--export", action="store_true", help="only export the saved state")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = replace(
        SQL_PLAN, out=args.out, minutes=args.minutes, max_steps=args.steps, compiled=not args.eager
    )
    if args.export:
        at = export_state(plan, tokenizer_of(plan))
        logger.info("exported step %d of %.0f s", at.step, at.elapsed_s)
    else:
        train(plan, args.resume)


if __name__ == "__main__":
    main()
