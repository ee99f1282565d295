"""vLLM's own `/v1/systemone` beside SQL: rows a second of each, and how far their probabilities differ.

The model is a made-up Qwen3, for the endpoint takes no Llama. Both sides run in float32 with the same limits
of a step, threads and allocator, and take turns. The server is driven by aiohttp with as many requests under
way as are best for it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import aiohttp
import uvloop

from benchmarks.common import table
from benchmarks.decisions.rows import (
    QUESTIONS,
    DecisionQuestion,
    PartFindings,
    connection_to,
    engine_of,
    seconds_of,
    texts_of,
)
from benchmarks.served import NAME, ServedProcess
from benchmarks.zoo import build
from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.engines.local import sampling
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.label_read import Groups
from relserve.engines.local.running import RunningEngine
from relserve.engines.loop import spawn

ENGINE_ARGS = {"max_model_len": 2048, "dtype": "float32"}
CHARS = 300  # of a row: a made-up tokenizer cuts real words into letters
AT_ONCE = (16, 64, 256)  # requests under way that are tried
NUM_TRIED, NUM_COMPARED = 400, 100  # rows
ID = "q"
JSON = {"content-type": "application/json"}


def measure(quick: bool) -> PartFindings:
    """Both sides, question by question."""
    num_rows, num_turns = (300, 1) if quick else (2_000, 3)
    path, lines, wrong_by = build("qwen3"), list[list[Any]](), list[float]()
    with engine_of("qwen3", path, ENGINE_ARGS) as engine, connection_to(engine, num_rows, CHARS) as con:
        texts, (limits, variables) = texts_of(con), settings_of(engine)
        with ServedProcess(False, limits, path, variables) as server:
            at_once = best_at_once(server, texts[:NUM_TRIED])
            for question in QUESTIONS:
                bodies = [body_of(question, text) for text in texts]
                call = question.weighed()
                seconds_of(con, engine, call)  # what is learnt of a tokenizer, once
                for turn in range(num_turns):
                    theirs_s, answers = decide(server, bodies, at_once)
                    lines.append([question.name, turn, theirs_s, seconds_of(con, engine, call)])
                wrong_by.append(error_of(engine, question, texts[:NUM_COMPARED], answers))
    print(table(["question", "turn", "/v1/systemone, s", "SQL, s"], lines), f"\n{at_once} requests at once\n")
    over = {
        each.name: statistics.median(line[2] / line[3] for line in lines if line[0] == each.name)
        for each in QUESTIONS
    }
    headline = {
        "over_systemone": round(min(over.values()), 2),
        "over_systemone_by": {name: round(ratio, 2) for name, ratio in over.items()},
        "probability_error": max(wrong_by),
    }
    details = {"at_once": at_once, "rows": num_rows, "seconds": lines, "errors": wrong_by}
    return PartFindings(headline, details)


def settings_of(engine: LocalEngine) -> tuple[tuple[str, ...], dict[str, str]]:
    """Arguments for `vllm serve` and variables of its environment, as relserve chose them for its engine."""
    running = engine.running
    assert running is not None
    limits = running.client.vllm_config.scheduler_config
    arguments = (
        "--max-num-seqs", str(limits.max_num_seqs),
        "--max-num-batched-tokens", str(limits.max_num_batched_tokens),
        "--max-model-len", str(ENGINE_ARGS["max_model_len"]),
        # Else the model runs in a process of its own, which spins while it waits for the next step.
        "--distributed-executor-backend", "vllm.v1.executor.uniproc_executor.UniProcExecutor",
    )  # fmt: skip
    return arguments, running.variables


def body_of(question: DecisionQuestion, text: str) -> bytes:
    """A request about a row."""
    asked: dict[str, Any] = {"type": "noul", "instructions": question.text}
    if question.choices:
        asked |= {"type": "choice", "criteria": dict.fromkeys(question.choices)}
    return json.dumps({"model": NAME, "state": text, "questions": {ID: asked}}).encode()


def best_at_once(server: ServedProcess, texts: Sequence[str]) -> int:
    """With how many requests under way the server is fastest."""
    bodies = [body_of(QUESTIONS[0], text) for text in texts]
    decide(server, bodies[:32], 8)
    return min(AT_ONCE, key=lambda at_once: decide(server, bodies, at_once)[0])


def decide(
    server: ServedProcess, bodies: Sequence[bytes], at_once: int
) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of all requests, from an empty prefix cache, and their answers."""
    server.forget_prefixes()
    began_s = time.perf_counter()
    answers = uvloop.run(_decide(server.root, bodies, at_once))
    return time.perf_counter() - began_s, [json.loads(each) for each in answers]


async def _decide(root: str, bodies: Sequence[bytes], at_once: int) -> list[bytes]:
    answers, places = [b""] * len(bodies), iter(range(len(bodies)))
    reach, patience = aiohttp.TCPConnector(limit=at_once), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(root, headers=JSON, connector=reach, timeout=patience) as client:

        async def work() -> None:
            for place in places:
                async with client.post("/v1/systemone", data=bodies[place]) as response:
                    response.raise_for_status()
                    answers[place] = await response.read()

        await asyncio.gather(*(work() for _ in range(at_once)))
    return answers


def error_of(
    engine: LocalEngine, question: DecisionQuestion, texts: Sequence[str], answers: Sequence[dict[str, Any]]
) -> float:
    """The largest difference of a probability, where our engine is asked with the endpoint's own prompt.

    Of each label the one token counts that the endpoint reads.
    """
    labels, asked = asked_by_vllm(question)
    replies = replies_of(engine, labels, [f"{text}\n\n{asked}" for text in texts])
    wrong_by = []
    for reply, answer in zip(replies, answers, strict=False):
        assert reply.usage.prompt_tokens == answer["usage"]["input_tokens"], "the prompts differ"
        true = answer["answers"][ID]["probabilities"].values()
        wrong_by += [abs(ours - p) for ours, p in zip(reply.probabilities or (), true, strict=True)]
    return max(wrong_by)


def asked_by_vllm(question: DecisionQuestion) -> tuple[tuple[str, ...], str]:
    """The labels of a question in the endpoint, and the text that it puts after a state."""
    from vllm.entrypoints.generate.structured_decisions.question_types import build_question

    criteria = dict.fromkeys(question.choices) or None
    kind = "choice" if question.choices else "noul"
    built = build_question(ID, kind, question.text, criteria, len(question.options))
    return built.labels, built.type.prompt(built)


def replies_of(engine: LocalEngine, labels: tuple[str, ...], prompts: Sequence[str]) -> list[Reply]:
    """The replies to prompts that name these labels, of each of which one token is read."""
    asking = Sampling(1, grammar=Grammar(choices=labels), read="label")

    def bare(running: RunningEngine, labels: Sequence[str]) -> Groups:
        return tuple(tuple(running.encoder.ids_of(label)) for label in labels)

    async def collect() -> list[Reply]:
        stream = engine.answer(Submission(new_rel_id(), prompts, asking, labels=labels))
        return [reply async for batch in stream for reply in batch]

    with patch.object(sampling, "groups_of", bare):
        return sorted(spawn(collect()).result(), key=lambda reply: reply.index)
