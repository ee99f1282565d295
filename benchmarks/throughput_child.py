"""One side of `benchmarks.throughput`: a relQuery through SQL, or its prompts through vllm.LLM alone.

The first line of its input is a `SideSettings` as JSON, which it answers with what its engine was started
with. Each further line is answered by one run: its seconds, its tokens and a hash of the replies.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import psutil

T = TypeVar("T")

WORDS = 16  # most tokens of a free text


class SideSettings(NamedTuple):
    """What a side is to be.

    Attributes:
        own: "sql" or "vllm".
        workload: "choice" for the paper's classification of beer reviews, "text" for a free text about each.
        num_rows: rows of the relQuery, all of them different.
        limits: arguments of vllm.LLM, as relserve's engine has them.
    """

    own: str
    workload: str
    num_rows: int
    limits: dict[str, int] = {}  # noqa: RUF012 - never changed


class ThroughputRun(NamedTuple):
    """One run: seconds, tokens of prompts and of replies, and a hash of the replies in order.

    `front_s` and `engine_s` are seconds of CPU time of this process, and of the engine's.
    """

    seconds: float
    front_s: float
    engine_s: float
    prompt_tokens: int
    reply_tokens: int
    replies: str


class AnsweringSide(Protocol):
    """What answers."""

    def about(self) -> dict[str, Any]:
        """What its engine was started with."""

    def run(self) -> ThroughputRun:
        """One run, from an empty prefix cache."""


class Sql:
    """relserve as it comes, with the embedded model."""

    def __init__(self, order: SideSettings) -> None:
        from benchmarks.beer import classify_call
        from relserve.api import connect, find_engine

        self.con = connect(model="tiny", progress=False)
        create_source(self.con, order.num_rows)
        text = f"llm('Describe the beer: {{review}}', review, max_tokens := {WORDS})"
        call = classify_call() if order.workload == "choice" else text
        self.query = f"SELECT id, {call} FROM source"
        self.con.execute("SELECT llm('warm up')").fetchall()
        self.engine: Any = find_engine("tiny")

    def about(self) -> dict[str, Any]:
        """See `AnsweringSide`."""
        running = self.engine.running
        config = running.client.vllm_config
        names = ("max_num_seqs", "max_num_batched_tokens")
        limits = {name: getattr(config.scheduler_config, name) for name in names}
        limits["kv_cache_memory_bytes"] = config.cache_config.kv_cache_memory_bytes
        return {"variables": running.variables, "limits": limits}

    def run(self) -> ThroughputRun:
        """See `AnsweringSide`."""
        from relserve.engines.loop import spawn

        spawn(self.engine.reset_prefix_cache()).result()
        rows, times = timed(lambda: self.con.execute(self.query).fetchall())
        counted = self.con.execute(
            "SELECT prompt_tokens, output_tokens FROM llm_queries() ORDER BY started DESC LIMIT 1"
        ).fetchall()
        return ThroughputRun(*times, *counted[0], hash_of([answer for _, answer in sorted(rows)]))


class ThroughputVllm:
    """vllm.LLM with the prompts that `Sql` sends, rendered beforehand; it tokenises and detokenises them."""

    def __init__(self, order: SideSettings) -> None:
        from vllm import LLM, SamplingParams
        from vllm.sampling_params import StructuredOutputsParams
        from vllm.v1.executor.uniproc_executor import UniProcExecutor

        from benchmarks.beer import CHOICES, classify_template
        from relserve.api import connect
        from relserve.call.answer_types import ChoiceAnswer
        from relserve.call.structured import structured_outputs_of
        from relserve.engines.local import cpu
        from relserve.tiny import MODEL_DIR

        with connect(model="tiny", progress=False) as con:
            create_source(con, order.num_rows)
            rows = con.raw.execute("SELECT review FROM source ORDER BY id").fetchall()
        kind, more = ChoiceAnswer(CHOICES), {}
        self.choice_of: Callable[[str], str] = str
        template, cap = "Describe the beer: {review}", WORDS
        if order.workload == "choice":
            template, cap = f"{kind.instruction}\n{classify_template()}", kind.default_max_tokens
            grammar = structured_outputs_of(kind.grammar, str)
            more = {"structured_outputs": StructuredOutputsParams(**grammar)}
            self.choice_of = kind.grammar.choice_of
        model = str(MODEL_DIR)
        self.llm = LLM(
            model, dtype=cpu.cpu_dtype(model), enforce_eager=True, block_size=cpu.BLOCK_SIZE,
            distributed_executor_backend=UniProcExecutor, enable_prefix_caching=True, disable_log_stats=True,
            **order.limits,
        )  # fmt: skip
        self.sampling = SamplingParams(temperature=0, max_tokens=cap, **more)
        render = self.llm.get_tokenizer().apply_chat_template
        texts = [template.replace("{review}", str(review)) for (review,) in rows]
        chats = [[{"role": "user", "content": text}] for text in texts]
        self.prompts: Any = render(chats, tokenize=False, add_generation_prompt=True)
        self.llm.generate(self.prompts[:2], self.sampling, use_tqdm=False)

    def about(self) -> dict[str, Any]:
        """See `AnsweringSide`."""
        return {}

    def run(self) -> ThroughputRun:
        """See `AnsweringSide`."""
        self.llm.reset_prefix_cache()
        outputs, times = timed(lambda: self.llm.generate(self.prompts, self.sampling, use_tqdm=False))
        return ThroughputRun(
            *times,
            sum(len(output.prompt_token_ids or []) for output in outputs),
            sum(len(output.outputs[0].token_ids) for output in outputs),
            hash_of([self.choice_of(output.outputs[0].text.strip()) for output in outputs]),
        )


def create_source(con: Any, num_rows: int) -> None:
    """Table `source` (id, review): so many different beer reviews."""
    from benchmarks.beer import create_beer_table

    create_beer_table(con)
    con.raw.execute(
        "CREATE TABLE source AS SELECT min(id) AS id, review FROM beer WHERE trim(review) <> '' "
        f"GROUP BY review ORDER BY 1 LIMIT {num_rows}"
    )


def timed(work: Callable[[], T]) -> tuple[T, list[float]]:
    """What some work gives, and its seconds as `ThroughputRun` begins."""
    before = [time.perf_counter(), *cpu_seconds()]
    result = work()
    after = [time.perf_counter(), *cpu_seconds()]
    return result, [end - start for start, end in zip(before, after, strict=True)]


def cpu_seconds() -> tuple[float, float]:
    """CPU time so far of this process, and of those that it has started."""
    started = psutil.Process().children(recursive=True)
    return time.process_time(), sum(sum(each.cpu_times()[:2]) for each in started)


def hash_of(replies: Sequence[str | None]) -> str:
    """A hash of replies without the space around them, which answers do not have."""
    text = json.dumps([reply and reply.strip() for reply in replies])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    """Start what stdin orders, then run as often as it says."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM prints to stdout now and then
    order = SideSettings(**json.loads(sys.stdin.readline()))
    side: AnsweringSide = Sql(order) if order.own == "sql" else ThroughputVllm(order)
    answer: Any = side.about()
    print(json.dumps(answer), file=out, flush=True)
    for _ in sys.stdin:
        print(json.dumps(side.run()), file=out, flush=True)


if __name__ == "__main__":
    main()
