"""llm_classify over all 10,000 beer reviews: one relQuery, and answers equal to vLLM's own, row by row.

The other side is vllm.LLM with the stock scheduler in the same invocation, given prompts that this file
spells out itself. Both engines are warm, each run begins with an empty prefix cache, and the side that goes
first changes from round to round.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from typing import Any

from benchmarks.beer import CHOICES, classify_call, classify_template, create_beer_table
from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import connect, find_engine
from relserve.call.answer_types import Grammar
from relserve.call.structured import structured_outputs_of
from relserve.engines.local.cpu import cpu_dtype
from relserve.engines.loop import spawn
from relserve.tiny import MODEL_DIR

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines/local",
    "relserve/vllm_plugin", "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "rows": Untold("a size"), "distinct": Untold("a size"), "relqueries": Exact(1),
    "different_answers": Exact(0), "sql_s": Lower(0.6, timed=True), "direct_s": Untold("vLLM's"),
}  # fmt: skip

ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "2",
}  # fmt: skip
GRAMMAR = Grammar(choices=tuple(CHOICES))
LEAD = f"Answer with exactly one of: {', '.join(CHOICES)}.\n"
WARM_ROWS = 200

Answers = list[str | None]


class ThroughSql:
    """The first rows of the beer table, classified by a SQL statement."""

    def __init__(self, num_rows: int) -> None:
        self.con = connect(model="tiny", progress=False)
        self.engine: Any = find_engine("tiny")
        create_beer_table(self.con)
        self.query = "SELECT id, {} FROM beer WHERE id <= {}"
        self.num_rows = num_rows
        self.con.execute(self.query.format(classify_call(), WARM_ROWS)).fetchall()

    def reviews(self) -> Answers:
        """The column that is classified."""
        rows = self.con.execute(self.query.format("review", self.num_rows)).fetchall()
        return [review for _, review in sorted(rows)]

    def forget(self) -> None:
        """Empty the prefix cache."""
        spawn(self.engine.reset_prefix_cache()).result()

    def answers(self) -> Answers:
        """One run."""
        rows = self.con.execute(self.query.format(classify_call(), self.num_rows)).fetchall()
        return [answer for _, answer in sorted(rows)]

    def records(self) -> list[dict[str, Any]]:
        """The relQueries so far, without the one that warmed the engine."""
        found = self.con.sql("FROM llm_queries() WHERE function = 'llm_classify'")
        records: list[dict[str, Any]] = found.to_arrow_table().to_pylist()
        return records[1:]


class Directly:
    """The same prompts through vllm.LLM, greedy; a NULL review is not asked."""

    def __init__(self, reviews: Answers) -> None:
        from vllm import LLM, SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        self.llm = LLM(str(MODEL_DIR), dtype=cpu_dtype(str(MODEL_DIR)), enforce_eager=True, block_size=32)
        self.sampling = SamplingParams(
            temperature=0,
            max_tokens=16,
            structured_outputs=StructuredOutputsParams(**structured_outputs_of(GRAMMAR, str)),
        )
        template = classify_template().replace("{review}", "%s")
        self.reviews = reviews
        self.asked = {
            review: [{"role": "user", "content": LEAD + template % review}]
            for review in reviews
            if review is not None
        }
        self.llm.chat(list(self.asked.values())[:WARM_ROWS], self.sampling, use_tqdm=False)

    def forget(self) -> None:
        """Empty the prefix cache."""
        self.llm.reset_prefix_cache()

    def answers(self) -> Answers:
        """One run."""
        outputs = self.llm.chat(list(self.asked.values()), self.sampling, use_tqdm=False)
        chosen = (GRAMMAR.choice_of(GRAMMAR.without_space(o.outputs[0].text)) for o in outputs)
        said = dict(zip(self.asked, chosen, strict=True))
        return [None if review is None else said[review] for review in self.reviews]


def timed(side: ThroughSql | Directly) -> tuple[float, Answers]:
    """Seconds and answers of a run from an empty prefix cache."""
    side.forget()
    started = time.perf_counter()
    answers = side.answers()
    return time.perf_counter() - started, answers


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, num_rounds = (500, 1) if args.quick else (10_000, 4)
    os.environ.update(ENVIRONMENT)
    ours = ThroughSql(num_rows)
    sides = {"relserve SQL": ours, "vllm.LLM": Directly(ours.reviews())}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    answers: dict[str, Answers] = {}
    for number in range(num_rounds):
        for name in list(sides)[:: -1 if number % 2 else 1]:
            took_s, answers[name] = timed(sides[name])
            seconds[name].append(took_s)
    records = ours.records()
    assert len(records) == num_rounds, f"{len(records)} relQueries in {num_rounds} runs"
    different = [i for i, (a, b) in enumerate(zip(*answers.values(), strict=True)) if a != b]
    median = {name: statistics.median(runs) for name, runs in seconds.items()}
    rows = [[name, len(runs), median[name], min(runs), max(runs)] for name, runs in seconds.items()]
    print(table(["side", "runs", "seconds", "least", "greatest"], rows))
    print("answers:", dict(Counter(answers["relserve SQL"])))
    headline = {
        "rows": records[-1]["rows"], "distinct": records[-1]["distinct_prompts"], "relqueries": 1,
        "different_answers": len(different), "sql_s": round(median["relserve SQL"], 1),
        "direct_s": round(median["vllm.LLM"], 1),
    }  # fmt: skip
    details = {"records": records, "seconds": seconds, "different_rows": different[:20]}
    finish("classify_beer", headline, details, args.quick)
    ours.con.close()


if __name__ == "__main__":
    main()
