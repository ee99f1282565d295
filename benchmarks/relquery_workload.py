"""The relQuery mix of the RelServe paper over the shared tables, for the real engine and the simulator.

Fifteen of the paper's twenty templates (its PDMX table is not to be had), rows drawn at random from the real
tables, 1 to max_rows rows a relQuery, output caps 5, 10, 5, 50 and 100. True output lengths are drawn below
the caps; their mean is then the paper's (Table 4: 18 to 23 tokens), unless another shape is asked for.

Each prompt begins with the paper's system prompt. Without it prompts were 22 to 27 % shorter than Table 4
says (Amazon 234, Rotten 215, Beer 174 tokens); with it they have 234, 221 and 192 tokens on average, by the
embedded model's tokenizer, whose vocabulary is small. No prompt is cut unless asked for.

A trace is drawn anew for every seed: tables, templates, rows, true outputs and arrivals. What a dimension
changes (the declared cap, the shape of the outputs) leaves all else as it is.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from benchmarks.common import data_folder
from benchmarks.outputs import SHAPES
from lab.simulator.workload import RelSpec, RowSpec, gamma_arrivals, poisson_arrivals, replayed_arrivals
from relserve.call.template import Template
from relserve.tiny import MODEL_DIR

TABLES = ("amazon", "rotten", "beer")
ARRIVALS = ("poisson", "bursty", "azure")
BURSTINESS = 4.0  # squared coefficient of variation of the gaps
KINDS = ("binary", "classify", "regression", "summarize", "open")
# The paper's column names where the shared tables have others.
COLUMNS = {"description": "about_product", "reviewText": "review_content", "Format": "category"}

# What a relQuery declares: the paper's cap of its template, llm()'s default max_tokens, llm_extract()'s most.
CAPS: dict[str, int | None] = {"own": None, "256": 256, "1024": 1024}

Encode = Callable[[list[str]], list[list[int]]]


def encoder() -> Encode:
    """Prompts to token ids by the embedded model's tokenizer."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR)
    return lambda prompts: tokenizer(prompts, add_special_tokens=False)["input_ids"]


@cache
def rows_of(table: str) -> list[dict[str, str]]:
    csv.field_size_limit(10_000_000)
    with (data_folder() / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def _paper() -> dict[str, Any]:
    """The paper's templates by table and kind, its output caps by kind, and its system prompt."""
    found: dict[str, Any] = json.loads(
        (data_folder() / "relquery_templates.json").read_text(encoding="utf-8")
    )
    return found


def prompts_of(table: str, kind: str, rows: Sequence[dict[str, str]]) -> list[str]:
    """The paper's system prompt and its template of a table and kind, filled from rows."""
    template = Template.parse(_paper()["templates"][table][kind])
    columns = [COLUMNS.get(n, n) if table == "amazon" else n for n in template.names]
    binding = template.bind(1, template.names)
    return [f"{_paper()['system']}\n{binding.render([row[c] for c in columns]) or ''}" for row in rows]


def arrival_times(kind: str, rate: float, count: int, seed: int) -> list[float]:
    """Arrivals of one of ARRIVALS; "azure" replays a public conversation trace from where the seed says."""
    rng = random.Random(f"arrivals {seed}")
    if kind == "poisson":
        return poisson_arrivals(rate, count, rng)
    if kind == "bursty":
        return gamma_arrivals(rate, count, BURSTINESS, rng)
    with (data_folder() / "traces" / "AzureLLMInferenceTrace_conv.csv").open(encoding="utf-8") as file:
        times = [datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in csv.DictReader(file)]
    start = rng.randrange(len(times) - count)
    return replayed_arrivals(times[start : start + count], rate, count)


def relqueries(
    count: int,
    max_rows: int,
    rate: float,
    seed: int,
    encode: Encode,
    max_prompt: int | None = None,
    tables: Sequence[str] = TABLES,
    num_rows: int | None = None,
    kind: str | None = None,
    outputs: str = "uniform",
) -> list[RelSpec]:
    """A trace of `count` relQueries arriving as a Poisson process.

    The rows of a relQuery are distinct rows of its table; its kind is the table with the template's name.

    Args:
        rate: relQueries a second.
        encode: prompts to token ids; longer prompts are cut to `max_prompt` tokens where that is given.
        num_rows, kind: of every relQuery, where they shall not be drawn.
        outputs: how true output lengths are distributed below the caps, a name of `outputs.SHAPES`.
    """
    rng, lengths = random.Random(f"relqueries {seed}"), random.Random(f"outputs {seed}")
    trace = []
    for i, arrival_s in enumerate(poisson_arrivals(rate, count, rng)):
        table, drawn = rng.choice(tables), rng.choice(KINDS)
        name, wanted = kind or drawn, num_rows or rng.randint(1, max_rows)
        encoded = encode(prompts_of(table, name, rng.sample(rows_of(table), wanted)))
        cap, rel_kind = int(_paper()["max_tokens"][name]), f"{table} {name}"
        shape = SHAPES[outputs](cap, rel_kind)
        specs = tuple(RowSpec(tuple(ids[:max_prompt]), shape(lengths)) for ids in encoded)
        trace.append(RelSpec(f"q{i}", arrival_s, specs, cap, kind=rel_kind))
    return trace


def one_of_each_kind(num_rows: int, seed: int, encode: Encode, outputs: str = "uniform") -> list[RelSpec]:
    """A relQuery of every table and template, all at time 0: who has served them has seen the templates."""
    each = [
        relqueries(1, num_rows, 1.0, seed, encode, None, (table,), num_rows, kind, outputs)[0]
        for table in TABLES for kind in KINDS
    ]  # fmt: skip
    return [replace(rel, rel_id=f"q{i}", arrival_s=0.0) for i, rel in enumerate(each)]


def declared(trace: Sequence[RelSpec], cap: int | None) -> list[RelSpec]:
    """The trace with another declared cap and the same true outputs; None leaves each its own."""
    return [rel if cap is None else replace(rel, output_cap=cap) for rel in trace]
