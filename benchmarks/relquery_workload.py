"""The relQuery mix of the RelServe paper over the shared tables, for the real engine and the simulator.

Fifteen of the paper's twenty templates (its PDMX table is not to be had), rows drawn at random from the real
tables, 1 to max_rows rows a relQuery, output caps 5, 10, 5, 50 and 100. True output lengths are drawn below
the caps so that their mean is the paper's (Table 4: 18 to 23 tokens).
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache

from benchmarks.common import data_folder
from relserve.call.template import Template
from relserve.simulator.workload import RelSpec, RowSpec, gamma_arrivals, poisson_arrivals, replayed_arrivals
from relserve.tiny import MODEL_DIR

TABLES = ("amazon", "rotten", "beer")
ARRIVALS = ("poisson", "bursty", "azure")
BURSTINESS = 4.0  # squared coefficient of variation of the gaps
KINDS = ("binary", "classify", "regression", "summarize", "open")
# The paper's column names where the shared tables have others.
COLUMNS = {"description": "about_product", "reviewText": "review_content", "Format": "category"}

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
def _templates() -> dict[str, object]:
    found: dict[str, object] = json.loads(
        (data_folder() / "relquery_templates.json").read_text(encoding="utf-8")
    )
    return found


def prompts_of(table: str, kind: str, rows: Sequence[dict[str, str]]) -> list[str]:
    """The paper's template of a table and kind, filled from rows."""
    templates = _templates()["templates"]
    assert isinstance(templates, dict)
    template = Template.parse(templates[table][kind])
    columns = [COLUMNS.get(n, n) if table == "amazon" else n for n in template.names]
    binding = template.bind(1, template.names)
    return [binding.render([row[c] for c in columns]) or "" for row in rows]


def output_tokens(cap: int, rng: random.Random) -> int:
    """A true output length below a cap: short ones anywhere below it, long ones from a quarter of it on."""
    return rng.randint(1 if cap <= 10 else cap // 4, cap)


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
    max_prompt: int = 700,
    tables: Sequence[str] = TABLES,
    num_rows: int | None = None,
    kind: str | None = None,
) -> list[RelSpec]:
    """A trace of `count` relQueries arriving as a Poisson process.

    Args:
        rate: relQueries a second.
        encode: prompts to token ids; longer prompts are cut to `max_prompt` tokens.
        num_rows, kind: of every relQuery, where they shall not be drawn.
    """
    rng = random.Random(f"relqueries {seed}")
    caps = _templates()["max_tokens"]
    assert isinstance(caps, dict)
    trace = []
    for i, arrival_s in enumerate(poisson_arrivals(rate, count, rng)):
        table, drawn = rng.choice(tables), rng.choice(KINDS)
        rows = rng.choices(rows_of(table), k=num_rows or rng.randint(1, max_rows))
        cap = int(caps[kind or drawn])
        encoded = encode(prompts_of(table, kind or drawn, rows))
        specs = tuple(RowSpec(tuple(ids[:max_prompt]), output_tokens(cap, rng)) for ids in encoded)
        trace.append(RelSpec(f"q{i}", arrival_s, specs, cap))
    return trace
