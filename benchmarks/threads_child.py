"""One engine of `benchmarks.threads`, started by relserve or vLLM alone; told by JSON lines what to prefill.

The first line says which engine: {"model", "own"}. Then each number is that of prompts to prefill; the answer
is [prompt tokens, seconds].
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any, TextIO

WORDS = 150  # of a prompt, several tokens each


def prompts(random_words: random.Random, count: int) -> list[str]:
    """Prompts of made-up words, that are in no prefix cache."""
    return [" ".join(f"{random_words.randrange(10**6)}" for _ in range(WORDS)) for _ in range(count)]


class Relserve:
    """An engine as `relserve.connect` starts it."""

    def __init__(self, model: str) -> None:
        from relserve.engines.local.engine import LocalEngine

        self.engine = LocalEngine("made-up", model)

    def prefill(self, texts: list[str]) -> int:
        """Answer the prompts with one token each; gives the tokens of the prompts."""
        from relserve.call.relquery import Sampling, Submission, new_rel_id
        from relserve.session.pending_replies import PendingReplies

        pending = PendingReplies(self.engine, Submission(new_rel_id(), texts, Sampling(max_tokens=1)))
        return sum(reply.usage.prompt_tokens for reply in pending.result())

    def close(self) -> None:
        """End the engine's process."""
        from relserve.engines.loop import spawn

        spawn(self.engine.close()).result()


class ThreadsVllm:
    """vllm.LLM with the arguments that relserve gives, but for scheduler, worker and threads.

    Args:
        uniproc: run the model in the engine's process, as relserve does; else in one of its own, as vLLM does
            where it binds threads.
    """

    def __init__(self, model: str, uniproc: bool) -> None:
        from vllm import LLM, SamplingParams
        from vllm.v1.executor.uniproc_executor import UniProcExecutor

        more: dict[str, Any] = {"distributed_executor_backend": UniProcExecutor} if uniproc else {}
        self.llm = LLM(model, enforce_eager=True, block_size=32, disable_log_stats=True, **more)
        self.sampling = SamplingParams(temperature=0, max_tokens=1)

    def prefill(self, texts: list[str]) -> int:
        """As `Relserve.prefill`."""
        chats: list[Any] = [[{"role": "user", "content": text}] for text in texts]
        outputs = self.llm.chat(chats, self.sampling, use_tqdm=False)
        return sum(len(output.prompt_token_ids or []) for output in outputs)

    def close(self) -> None:
        """As `Relserve.close`; without it vLLM's processes would outlive this one."""
        self.llm.llm_engine.engine_core.shutdown()


def main() -> None:
    """Start the engine that stdin names, then prefill as often as it says."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM prints to stdout now and then
    order = json.loads(sys.stdin.readline())
    own = order["own"]
    side = Relserve(order["model"]) if own == "relserve" else ThreadsVllm(order["model"], own == "nobind")
    try:
        serve(side, out)
    finally:
        side.close()


def serve(side: Relserve | ThreadsVllm, out: TextIO) -> None:
    """Prefill as often as stdin says, until it ends."""
    words = random.Random(0)
    side.prefill(prompts(words, 4))
    out.write('"ready"\n')
    out.flush()
    for line in sys.stdin:
        texts = prompts(words, int(line))
        started = time.perf_counter()
        tokens = side.prefill(texts)
        out.write(json.dumps([tokens, time.perf_counter() - started]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
