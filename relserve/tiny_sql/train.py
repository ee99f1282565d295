"""Train the embedded model for text2sql: `python -m relserve.tiny_sql.train --out DIR --minutes N [--resume]`.

Two processes of one thread, on two CPU cores: `python -m torch.distributed.run --nproc-per-node 2 -m
relserve.tiny_sql.train ..`. Frames that the corpus gained meanwhile are picked up by a run that resumes.
"""

import argparse
import logging
from dataclasses import replace
from pathlib import Path

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from relserve.tiny.plan import Plan, Progress, export, load_state
from relserve.tiny.trainer import Trainer, make_optimizers
from relserve.tiny_sql.answering import share_told
from relserve.tiny_sql.batches import corpus_texts, evaluation_set, stream
from relserve.tiny_sql.tokenizer import VOCAB_SIZE, load_tokenizer, train_tokenizer

logger = logging.getLogger(__name__)

EVALUATED = 150  # questions of each set, in the log
SQL_PLAN = Plan(
    Path(), batch_tokens=4096, prompt_share=0.06, easy_pools=0, intermediate=640, vocab=VOCAB_SIZE,
    tokenizer_examples=6000, save_every_s=120.0,
)  # fmt: skip


def tokenizer_of(plan: Plan) -> PreTrainedTokenizerFast:
    """Load the run's tokenizer; train it first where there is none (start a new run with one process)."""
    folder = plan.out / "tokenizer"
    if not folder.exists():
        folder.mkdir(parents=True)
        train_tokenizer(corpus_texts(plan.tokenizer_examples), plan.vocab).save_pretrained(folder)
    return load_tokenizer(folder)


def train(plan: Plan, resume: bool = False) -> Progress:
    """Carry a plan out; with `resume` from the saved state on. The log tells how many answers it would get right."""
    tokenizer = tokenizer_of(plan)
    sets = {
        name: evaluation_set(tokenizer, EVALUATED, held_out) for name, held_out in (("seen", False), ("new", True))
    }

    def check(model: LlamaForCausalLM, at: Progress) -> None:
        shares = {name: round(share_told(model, batches), 3) for name, batches in sets.items()}
        logger.info("step %d right %s", at.step, shares)

    return Trainer(plan, tokenizer, stream(tokenizer, plan), resume).run(check)


def export_state(plan: Plan) -> None:
    """Export the last saved state to `plan.out/model`, also while the run goes on."""
    tokenizer = tokenizer_of(plan)
    model = LlamaForCausalLM(plan.config(len(tokenizer)))
    at = load_state(plan, model, make_optimizers(model, plan))
    export(model, tokenizer, plan.out / "model")
    logger.info("exported step %d of %d s", at.step, at.elapsed_s)


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description="Train the embedded model for text2sql.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the state and the exported model")
    parser.add_argument("--minutes", type=float, default=Plan.minutes, help="time over all resumed runs")
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: no limit)")
    parser.add_argument("--hidden", type=int, default=SQL_PLAN.hidden, help="width; a head has 64")
    parser.add_argument("--resume", action="store_true", help="continue from the saved state")
    parser.add_argument("--export", action="store_true", help="only export the saved state")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = replace(SQL_PLAN, out=args.out, minutes=args.minutes, max_steps=args.steps)
    plan = replace(plan, hidden=args.hidden, heads=args.hidden // 64, intermediate=args.hidden * 5 // 2)
    if args.export:
        export_state(plan)
    else:
        train(plan, args.resume)


if __name__ == "__main__":
    main()
