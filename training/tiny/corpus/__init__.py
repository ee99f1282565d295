"""The corpus generator: rows, instructions, expected answers, and the held-out rows of the benchmarks."""

from training.tiny.corpus.heldout import HELD_OUT_TASKS, EvalGroup, heldout

__all__ = ["HELD_OUT_TASKS", "EvalGroup", "heldout"]
