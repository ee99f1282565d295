"""Train the embedded model: `python -m training.tiny.train --out DIR --minutes N [--resume]`.

Several processes share the work when `torchrun` starts them: `python -m torch.distributed.run
--nproc-per-node 2 -m training.tiny.train ..`. On a busy machine two processes of one thread get far more done
than two threads.
"""

import argparse
import logging
from dataclasses import replace
from pathlib import Path

import torch

from training.tiny.encoding import stream
from training.tiny.plan import TrainingPlan, TrainingProgress
from training.tiny.tokenizer import corpus_texts, tokenizer_in, train_tokenizer
from training.tiny.trainer import Trainer


def make_trainer(plan: TrainingPlan, resume: bool = False) -> Trainer:
    """A trainer with the run's tokenizer; with `resume` from the saved state on."""
    tokenizer = tokenizer_in(
        plan.out / "tokenizer", lambda: train_tokenizer(corpus_texts(plan.tokenizer_examples), plan.vocab)
    )
    return Trainer(plan, tokenizer, stream(tokenizer, plan), resume)


def train(plan: TrainingPlan, resume: bool = False) -> TrainingProgress:
    """Carry a plan out; with `resume` from the saved state on."""
    return make_trainer(plan, resume).run()


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description="Train the embedded model.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the state and the exported model")
    parser.add_argument(
        "--minutes", type=float, default=TrainingPlan.minutes, help="time over all resumed runs"
    )
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: no limit)")
    parser.add_argument("--layers", type=int, default=TrainingPlan.layers)
    parser.add_argument(
        "--batch-tokens", type=int, default=TrainingPlan.batch_tokens, help="tokens in a worker's batch"
    )
    parser.add_argument("--resume", action="store_true", help="continue from the saved state")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each process")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = replace(TrainingPlan(args.out), minutes=args.minutes, max_steps=args.steps, layers=args.layers)
    train(replace(plan, batch_tokens=args.batch_tokens), args.resume)


if __name__ == "__main__":
    main()
