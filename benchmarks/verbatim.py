"""Quotes stand in their texts: on real and adversarial rows, with order numbers right, and a grammar a row.

Every row of three real tables and of made-up adversarial texts is asked for a quote with its place, and
whatever is not NULL has to stand there, in DuckDB's own count of characters. Order numbers of the shipped
tickets and messages are compared with the true ones, beside those that llm() writes freely. What the grammar
of a row costs is CPU time over a vocabulary of 262,144 tokens: by llguidance, which the engine uses for it,
and by xgrammar, which it uses for all others.
"""

from __future__ import annotations

import csv
import json
import random
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Exact, Higher, Lower, Untold
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.grammar_cost import MAX_TOKENS, NUM_REPLIES, GrammarCost, Vocabulary
from benchmarks.zoo import build
from relserve.api import Connection, connect
from relserve.call.answer_types import Grammar
from relserve.call.parts import PART, lark_of, part_rules
from relserve.cli import demo
from relserve.errors import RowsFailedWarning
from relserve.examples import MESSAGES

ROOMS = ("relserve/call", "relserve/engines/local", "relserve/vllm_plugin", "relserve/session")
HEADLINE = {
    "rows": Untold("a size"), "quotes": Untold("a size"), "verbatim_share": Exact(1.0),
    "failed_rows": Lower(by=3), "tickets_right": Higher(), "tickets_right_freely": Untold("the other side"),
    "any_tickets_right": Higher(by=0.1), "any_tickets_right_freely": Untold("the other side"),
    "messages_right": Higher(by=0.02), "messages_right_freely": Untold("the other side"),
    "compile_ms": Lower(0.6, timed=True), "mask_ms": Lower(0.6, timed=True), "aims": Untold("no figure"),
}  # fmt: skip
AIMS = {"verbatim_share": 1.0, "tickets_right": 0.97, "compile_ms": 20.0, "mask_ms": 1.0}

SIZES, CLAIMED = (100, 2000, 10_000), 2000  # words of a text whose grammar is measured
MOST_BY_XGRAMMAR = {True: 100, False: 2000}  # words, in a quick run and in a whole one: 2,000 take it 9 s
NUM_ADVERSARIES, QUICK = 500, 40
QUESTION = "Which words say most? {}"
FIELDS = '{"what": "VARCHAR", "why": "VARCHAR"}'
ORDER = "What is the order number in this ticket? {}"
TRUTHS = {  # tables with true order numbers; the first is what the demo asks
    "tickets": "(SELECT text, regexp_extract(text, 'order ([A-Z]+-[0-9]+)', 1) AS truth FROM tickets) "
    "WHERE truth <> ''",
    "any_tickets": "(SELECT text, regexp_extract(text, '(?i)order ?(#?[a-z]*-?[0-9]{4,})', 1) AS truth "
    "FROM tickets) WHERE truth <> ''",
    "messages": f"(SELECT message AS text, order_number AS truth FROM '{MESSAGES}') WHERE truth IS NOT NULL",
}
ADVERSARIES = (
    "aaaa aaaa aaa", "ab" * 60, "caf\u00e9 cafe\u0301 CAFE", "e\u0301\u0323\u0302 o\u0308", "'';--/**/",
    "0" * 90,
    "\U0001f469\u200d\U0001f52c\U0001f3fd!", 'she said "no", \\"never\\"', "a\\b\\\\c\n\r\t\x01\x7f", "null",
    "\u0928\u093f\u0930\u094d\u0923\u092f", "\u6ce8\u6587\u756a\u53f7\u306fAB-42\u3067\u3059", "{}[]:,", "",
    "\u05e9\u05dc\u05d5\u05dd 12 \u202eabc", " ", "<|endoftext|> [INST] ```", "\u00df\u1e9e\ufb01\u0130",
)  # fmt: skip


def real_texts(num: int) -> list[str]:
    """Texts of the three real tables, so many of each."""
    texts = []
    for name in ("beer", "amazon", "rotten"):
        with (data_folder() / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = [max(row.values(), key=lambda value: len(value or "")) for row in csv.DictReader(file)]
        texts += list(dict.fromkeys(rows))[:num]
    return texts


def adversarial_texts(num: int) -> list[str]:
    """Texts that are hard to quote, each there once; the last one has 10,000 words."""
    rng, made = random.Random(7), dict.fromkeys(ADVERSARIES)
    while len(made) < num - 1:
        made[rng.choice((" ", "\n", "")).join(rng.choices(ADVERSARIES, k=rng.randint(2, 6)))] = None
    return [*list(made)[: num - 1], "word " * 9_999 + "end"]


def one_row(con: Connection, sql: str) -> tuple[Any, ...]:
    """The only row of a query."""
    (row,) = con.execute(sql).fetchall()
    return tuple(row)


def quotes_of(con: Connection, texts: Sequence[str]) -> tuple[int, int]:
    """How many texts are quoted in all, by both functions, and how many of them stand where they should."""
    con.raw.execute("CREATE OR REPLACE TEMP TABLE texts AS SELECT unnest($1::VARCHAR[]) AS t", [list(texts)])
    quote = f"llm_quote('{QUESTION}', t, offsets := true)"
    found, placed = one_row(
        con,
        "SELECT count(q), count(*) FILTER (substring(t, q.start, q.stop - q.start + 1) = q.text) "
        f"FROM (SELECT t, {quote} AS q FROM texts)",
    )
    extract = f"llm_extract('{QUESTION}', t, schema := '{FIELDS}', verbatim := true)"
    also, contained = one_row(
        con,
        "SELECT count(p), count(*) FILTER (contains(t, p)) FROM "
        "(SELECT t, unnest([x.what, x.why]) AS p "
        f"FROM (SELECT t, {extract} AS x FROM texts))",
    )
    return found + also, placed + contained


def share_right(con: Connection, source: str, call: str) -> float:
    """The share of rows whose order number a call gives exactly."""
    (share,) = one_row(con, f"SELECT avg((coalesce({call}, '') = truth)::INTEGER) FROM {source}")
    return float(share)


class Llguidance:
    """A model's tokens, as vLLM hands them to llguidance."""

    def __init__(self, folder: Path, size: int) -> None:
        import llguidance.hf
        from transformers import PreTrainedTokenizerFast

        self._size = size
        self._tokens = llguidance.hf.from_tokenizer(PreTrainedTokenizerFast.from_pretrained(folder), size)

    def cost(self, grammar: Grammar) -> GrammarCost:
        """What vLLM spends on a grammar that quotes, over a few random replies that it allows."""
        import llguidance

        began_s = time.process_time()
        lark = llguidance.grammar_from("grammar", lark_of(grammar, str))
        assert not (error := llguidance.LLMatcher(self._tokens, lark).get_error()), error
        compile_s = time.process_time() - began_s
        masks_s = [s for seed in range(NUM_REPLIES) for s in self._mask_seconds(lark, seed)]
        return GrammarCost(compile_s, 1e3 * sum(masks_s) / len(masks_s), 1e3 * max(masks_s))

    def _mask_seconds(self, lark: str, seed: int) -> list[float]:
        import llguidance
        import llguidance.torch

        matcher, rng, seconds = llguidance.LLMatcher(self._tokens, lark), random.Random(seed), list[float]()
        mask = llguidance.torch.allocate_token_bitmask(1, self._size)
        while len(seconds) < MAX_TOKENS and not matcher.is_stopped():
            began_s = time.process_time()
            llguidance.torch.fill_next_token_bitmask(matcher, mask, 0)
            seconds.append(time.process_time() - began_s)
            bits = np.unpackbits(mask[0].numpy().view(np.uint8), bitorder="little")[: self._size]
            assert matcher.consume_token(int(rng.choice(np.flatnonzero(bits))))
        return seconds


def costs(sizes: Sequence[int], most_by_xgrammar: int) -> list[list[Any]]:
    """A line for each library and number of words: words, library, milliseconds of compiling and masks."""
    folder, lines = build("gemma3"), list[list[Any]]()
    xgrammar = Vocabulary(folder)
    llguidance = Llguidance(folder, xgrammar.size)
    words = " ".join(real_texts(1000)).split(" ")
    for size in sizes:
        text = " ".join(words[:size])
        spelled = f"root ::= {PART}\n" + "\n".join(part_rules((text,), False, json.dumps))
        found = {"llguidance": llguidance.cost(Grammar(source=(text,)))}
        if size <= most_by_xgrammar:
            found["xgrammar"] = xgrammar.cost(Grammar(ebnf=spelled))
        lines += [
            [size, name, 1e3 * cost.compile_s, cost.mask_ms, cost.mask_ms_max] for name, cost in found.items()
        ]
    return lines


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    warnings.simplefilter("ignore", RowsFailedWarning)  # they are counted here
    cost_lines = costs(SIZES[:2] if args.quick else SIZES, MOST_BY_XGRAMMAR[args.quick])
    columns = ["words", "library", "compile ms", "mask ms", "slowest mask"]
    print(table(columns, cost_lines))
    sides = {
        "real": real_texts(QUICK // 2 if args.quick else 1000),
        "adversarial": adversarial_texts(QUICK if args.quick else NUM_ADVERSARIES),
    }
    with connect(model="tiny", progress=False) as con:
        demo.prepare(con)
        counts = {side: quotes_of(con, texts) for side, texts in sides.items()}
        (failed,) = one_row(con, "SELECT sum(failed_rows) FROM llm_queries()")
        right = {
            name: [
                share_right(con, source, call)
                for call in (f"llm_quote('{ORDER}', text)", f"trim(llm('{ORDER}', text, max_tokens := 16))")
            ]
            for name, source in TRUTHS.items()
        }
    quotes = [
        [side, len(sides[side]), num, good / num if num else None] for side, (num, good) in counts.items()
    ]
    print("\n" + table(["texts", "rows", "quotes", "verbatim"], quotes))
    print("\n" + table(["order numbers", "quoted", "written freely"], [[k, *v] for k, v in right.items()]))
    claimed = next(line for line in cost_lines if line[:2] == [CLAIMED, "llguidance"])
    num, good = (sum(each) for each in zip(*counts.values(), strict=True))
    headline = {
        "rows": sum(map(len, sides.values())), "quotes": num, "verbatim_share": good / num,
        "failed_rows": int(failed),
        **{f"{name}_right{how}": round(share, 3) for name, shares in right.items()
           for how, share in zip(("", "_freely"), shares, strict=True)},
        "compile_ms": round(claimed[2], 2), "mask_ms": round(claimed[3], 3), "aims": AIMS,
    }  # fmt: skip
    details = {"costs": [columns, *cost_lines], "quotes": quotes, "order_numbers": right}
    finish("verbatim", headline, details, args.quick)


if __name__ == "__main__":
    main()
