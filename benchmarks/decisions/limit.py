"""The limit of the engine: SQL beside a bare loop over AsyncLLM, one token a prompt; and beside decoding.

The loop has vLLM's own engine with its own scheduler and worker, in relserve's settings, and is given the
same prompts as token ids, all at once. Decoding is llm_classify with min_confidence, which sums over all
spellings.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import table
from benchmarks.decisions.rows import (
    QUESTIONS,
    DecisionQuestion,
    PartFindings,
    connection_to,
    engine_of,
    seconds_of,
    texts_of,
    tokens_of_last,
)
from relserve.api import Connection
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.tiny import MODEL_DIR

LENGTH = {"max_model_len": 2048}
STOCK = {"scheduler_cls": None, "worker_cls": "auto"}  # arguments of vLLM by which its own run
LEAST = 0.8  # min_confidence
CHARS, CHARS_INSTRUCT = 300, 200  # of a row
INSTRUCT_ROWS = 200  # of the larger model, which takes 50 ms a row on this kind of machine


def measure(quick: bool, instruct: Path | None) -> PartFindings:
    """The embedded model, then the larger one, where there is one."""
    num_rows, num_turns = (300, 1) if quick else (2_000, 3)
    labelled = dict[str, float]()  # of a model that answers with labels, which tiny does not
    lines, decoded = _beside_loop("tiny", MODEL_DIR, num_rows, num_turns, CHARS, QUESTIONS)
    if instruct is not None and not quick:
        more, labelled = _beside_loop("instruct", instruct, INSTRUCT_ROWS, 2, CHARS_INSTRUCT, QUESTIONS)
        lines += more
    both = decoded | {f"instruct_{name}": ratio for name, ratio in labelled.items()}
    columns = ["model", "question", "turn", "bare loop, s", "SQL, s", "decoded, s", "requests a row decoded"]
    print(table(columns, lines), "\n")
    of_loop = {
        f"{model}_{question}": statistics.median(x[3] / x[4] for x in lines if x[:2] == [model, question])
        for model, question in dict.fromkeys((x[0], x[1]) for x in lines)
    }
    headline = {
        "of_bare_loop": round(min(of_loop.values()), 2),
        "of_bare_loop_by": {name: round(ratio, 2) for name, ratio in of_loop.items()},
        "over_decoding": round(min(decoded.values()), 2),
        "over_decoding_by": {name: round(ratio, 2) for name, ratio in both.items()},
    }
    return PartFindings(headline, {"rows": num_rows, "lines": lines})


def _beside_loop(
    model: str, path: Path, num_rows: int, num_turns: int, chars: int, questions: Sequence[DecisionQuestion]
) -> tuple[list[list[Any]], dict[str, float]]:
    """The lines of the table for a model, and how many times as fast as decoding each question is."""
    lines, over = list[list[Any]](), dict[str, float]()
    with engine_of(model, path, LENGTH) as ours, connection_to(ours, num_rows, chars) as con:
        texts, limits = texts_of(con), _limits_of(ours)
        with engine_of(model, path, {**LENGTH, **STOCK, **limits}) as stock:
            for question in questions:
                ids = _ids(ours, question.prompts(texts))
                seconds_of(con, ours, question.weighed())  # what is learnt of a tokenizer, once
                for turn in range(num_turns):
                    bare_s, sql_s = _bare_s(stock, ids), seconds_of(con, ours, question.weighed())
                    _check(con, ids)
                    lines.append([model, question.name, turn, bare_s, sql_s, None, None])
        for question in questions:
            mine = [line for line in lines if line[1] == question.name]
            call = question.decoded(f", min_confidence := {LEAST}")
            seconds_of(con, ours, call, may_fail=True)  # what is learnt of its spellings, once
            for line in mine:
                line[5] = seconds_of(con, ours, call, may_fail=True)
                line[6] = tokens_of_last(con)[1] / num_rows
            over[question.name] = statistics.median(line[5] / line[4] for line in mine)
    return lines, over


def _limits_of(engine: LocalEngine) -> dict[str, int]:
    assert engine.running is not None
    scheduler = engine.running.client.vllm_config.scheduler_config
    return {name: getattr(scheduler, name) for name in ("max_num_seqs", "max_num_batched_tokens")}


def _ids(engine: LocalEngine, prompts: Sequence[str]) -> list[list[int]]:
    assert engine.running is not None
    return engine.running.encoder.encode(prompts, None)


def _check(con: Connection, ids: Sequence[Sequence[int]]) -> None:
    """See that SQL asked the same prompts, for one token each.

    Raises:
        AssertionError: it did not.
    """
    prompt_tokens, output_tokens = tokens_of_last(con)
    assert (prompt_tokens, output_tokens) == (sum(map(len, ids)), len(ids)), "SQL asked something else"


def _bare_s(engine: LocalEngine, ids: Sequence[list[int]]) -> float:
    """Seconds in which vLLM gives one token after each prompt, from an empty prefix cache."""
    spawn(engine.reset_prefix_cache()).result()
    began_s = time.perf_counter()
    spawn(_generate(engine, ids)).result()
    return time.perf_counter() - began_s


async def _generate(engine: LocalEngine, ids: Sequence[list[int]]) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    assert engine.running is not None
    client: Any = engine.running.client
    params = SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
    )

    async def one(number: int) -> None:
        async for _ in client.generate({"prompt_token_ids": ids[number]}, params, f"bare-{number}"):
            pass

    await asyncio.gather(*map(one, range(len(ids))))
