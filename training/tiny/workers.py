"""Several training processes that average their gradients, as `torchrun` starts them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import distributed


@dataclass(frozen=True)
class TrainingWorkers:
    """This process among `count`; one process alone needs no set-up."""

    rank: int = 0
    count: int = 1

    def average(self, parameters: Iterable[torch.nn.Parameter], elapsed_s: float) -> float:
        """Average the gradients in place over the processes; return their mean elapsed time (s)."""
        if self.count == 1:
            return elapsed_s
        grads = [one.grad for one in parameters if one.grad is not None]
        flat = torch.cat([*(grad.flatten() for grad in grads), torch.tensor([elapsed_s])]) / self.count
        distributed.all_reduce(flat)
        means = torch.split(flat[:-1], [grad.numel() for grad in grads])
        for grad, mean in zip(grads, means, strict=True):
            grad.copy_(mean.view_as(grad))
        return float(flat[-1])


def join_workers() -> TrainingWorkers:
    """Join the processes that `torchrun` started, on CPU; alone outside of it."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count > 1 and not distributed.is_initialized():
        distributed.init_process_group("gloo")
    return TrainingWorkers(int(os.environ.get("RANK", "0")), count)
