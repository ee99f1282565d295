"""llm_classify over all 10,000 beer reviews: one relQuery, and answers equal to vLLM's own, row by row.

The other side is vllm.LLM with the stock scheduler in the same invocation, given prompts that this file
spells out itself.
"""

from __future__ import annotations

import time
from collections import Counter

import pyarrow as pa

from benchmarks.beer import CHOICES, classify_template, create_beer_table, quoted
from benchmarks.common import arguments, finish, table
from relserve.api import connect
from relserve.engines.local.start import cpu_dtype
from relserve.tiny import MODEL_DIR


def through_sql(num_rows: int) -> tuple[list[str], list[str | None], dict[str, object], float]:
    """Reviews, answers, the record of llm_queries() and seconds."""
    con = connect(model="tiny")
    create_beer_table(con)
    con.execute("SELECT llm('warm up')").fetchall()
    started = time.perf_counter()
    call = f"llm_classify({quoted(classify_template())}, review, choices := {list(CHOICES)})"
    answers = con.sql(f"SELECT id, review, {call} AS a FROM beer WHERE id <= {num_rows}").to_arrow_table()
    seconds = time.perf_counter() - started
    answers = answers.sort_by("id")
    records = con.sql("FROM llm_queries() WHERE function = 'llm_classify'").to_arrow_table().to_pylist()
    assert len(records) == 1, f"{len(records)} relQueries instead of one"
    con.close()
    return answers["review"].to_pylist(), answers["a"].to_pylist(), records[0], seconds


def directly(reviews: list[str | None]) -> tuple[list[str | None], float]:
    """The same prompts through vllm.LLM, greedy, NULL reviews left out."""
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(str(MODEL_DIR), dtype=cpu_dtype(str(MODEL_DIR)), enforce_eager=True, block_size=32)
    lead = f"Answer with exactly one of: {', '.join(CHOICES)}.\n"
    template = classify_template().replace("{review}", "%s")
    asked = {r: [{"role": "user", "content": lead + template % r}] for r in reviews if r is not None}
    sampling = SamplingParams(
        temperature=0, max_tokens=16, structured_outputs=StructuredOutputsParams(choice=list(CHOICES))
    )
    started = time.perf_counter()
    outputs = llm.chat(list(asked.values()), sampling, use_tqdm=False)
    seconds = time.perf_counter() - started
    said = dict(zip(asked, (o.outputs[0].text for o in outputs), strict=True))
    return [None if r is None else said[r] for r in reviews], seconds


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    reviews, ours, record, sql_s = through_sql(500 if args.quick else 10_000)
    theirs, direct_s = directly(reviews)
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    shown = [
        "rows",
        "distinct_prompts",
        "null_rows",
        "failed_rows",
        "prompt_tokens",
        "cached_tokens",
        "seconds",
    ]
    print(pa.table({name: [record[name]] for name in shown}).to_pandas().to_string(index=False))
    print(
        table(
            ["side", "rows", "seconds"],
            [["relserve SQL", len(ours), sql_s], ["vllm.LLM", len(theirs), direct_s]],
        )
    )
    print("answers:", dict(Counter(ours)))
    headline = {
        "rows": record["rows"], "distinct": record["distinct_prompts"], "relqueries": 1,
        "different_answers": len(different), "sql_s": round(sql_s, 1), "direct_s": round(direct_s, 1),
    }  # fmt: skip
    finish("classify_beer", headline, {"record": record, "different_rows": different[:20]}, args.quick)


if __name__ == "__main__":
    main()
