"""vLLM's CPU worker, corrected: a seeded request must not end the engine, nor probabilities stop it for 10 s.

And quickened: see `norms.py` and `bitmask.py`, which keep all bits, `label_logprobs.py` and
`label_head.py`.

When a step computes only a part of a prompt, vLLM throws the sampled token away and turns the request's
random generator back by an offset, which CPU generators do not have ("CPU Generator does not use offset",
seen in 0.32): one `seed := 1` with temperature over a few hundred rows was enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from relserve.vllm_plugin.bitmask import quicken_masks
from relserve.vllm_plugin.host import CPUWorker, ModelRunner, sampler
from relserve.vllm_plugin.label_head import narrow
from relserve.vllm_plugin.label_logprobs import quicken_labels
from relserve.vllm_plugin.norms import quicken


class Worker(CPUWorker):
    """Given to vLLM as `worker_cls`."""

    def init_device(self) -> None:
        super().init_device()  # type: ignore[no-untyped-call]
        rank_tokens_uncompiled()
        quicken_masks()
        runner: Any = self.model_runner
        if hasattr(runner, "discard_request_mask"):  # not in vLLM's second model runner
            quicken_labels(runner.sampler)
            runner.sample_tokens = _SampleTokens(runner)

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        super().load_model(*args, **kwargs)
        if self.model_config.enforce_eager:
            quicken(self.get_model())
        config = self.vllm_config
        is_whole = config.parallel_config.world_size == 1 and config.lora_config is None
        if hasattr(self.model_runner, "discard_request_mask") and is_whole:
            narrow(self.model_runner, self.get_model())


def rank_tokens_uncompiled() -> None:
    """Have the sampler count a token's rank in plain torch.

    vLLM compiles that count in the first step that tells probabilities: 10 s in which every relQuery waits.
    """
    name = "batched_count_greater_than"
    count = getattr(getattr(sampler, name, None), "_torchdynamo_orig_callable", None)
    if count is not None:
        setattr(sampler, name, count)


class _SampleTokens:
    """`sample_tokens` of a model runner, where samples that will be thrown away draw from a copy."""

    def __init__(self, runner: ModelRunner) -> None:
        self._runner, self._sample_tokens = runner, runner.sample_tokens

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        generators = self._runner.input_batch.generators
        held = {}
        if generators:
            mask = self._runner.discard_request_mask.np[: self._runner.input_batch.num_reqs]
            discarded = np.flatnonzero(mask)
            held = {i: generators[i] for i in map(int, discarded) if i in generators}
        for i, generator in held.items():
            generators[i] = _ThrowAwayGenerator.of(generator)
        try:
            return self._sample_tokens(*args, **kwargs)
        finally:
            generators.update(held)


class _ThrowAwayGenerator(torch.Generator):
    """A generator that need not be turned back, because it is thrown away."""

    @staticmethod
    def of(generator: torch.Generator) -> _ThrowAwayGenerator:
        copy = _ThrowAwayGenerator()
        copy.set_state(generator.get_state())
        return copy

    def get_offset(self) -> int:
        return 0

    def set_offset(self, offset: int) -> torch.Generator:
        return self
