"""Cascades and joins over batches: a round that waits ends the run, and nothing is asked in its place."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from batch_server import Answer, BatchServer, chat, prompt_of

import relserve
from relserve.api import ENGINES
from relserve.engines.scripted import ScriptedEngine

NUM_ROWS = 2000
NUM_ITEMS, NUM_GROUPS = 60, 20
_PAIR = re.compile(r"Is item (\d+) in group (\d+)\?")

pytestmark = pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning")


def sure(body: dict[str, Any]) -> Answer:
    """A probability of yes by the row's number."""
    yes = 0.95 if int(re.findall(r"\d+", prompt_of(body))[-1]) % 3 == 0 else 0.05
    tokens = [{"token": t, "logprob": math.log(p)} for t, p in (("yes", yes), ("no", 1 - yes))]
    status, reply = chat("yes")
    reply["choices"][0]["logprobs"] = {"content": [{**tokens[0], "top_logprobs": tokens}]}
    return status, reply


def test_the_large_model_waits_for_the_batch_of_the_small_one(server: BatchServer) -> None:
    server.answer = sure
    large = ScriptedEngine(
        lambda prompt, _: "yes" if int(re.findall(r"\d+", prompt)[-1]) % 3 == 0 else "no",
        model="large", identity="large",
    )  # fmt: skip
    ENGINES.put("large", large)
    con = relserve.connect(model="large", progress=False)
    call = f"llm_filter('Good, row {{}}?', i, cascade := 'batch:{server.url}')"
    sql = f"SELECT {call} FROM range({NUM_ROWS}) t(i)"
    assert set(con.sql(sql).fetchall()) == {(None,)}
    assert large.num_prompts == 0, "rows that wait are not those of which nothing is known"
    failed = con.sql("SELECT kind, sum(rows) FROM llm_errors() GROUP BY kind").fetchall()
    assert failed == [("in_batch", NUM_ROWS)]
    server.end_batches()
    found = con.sql(sql).fetchall()
    assert None not in {answer for (answer,) in found}
    assert 0 < large.num_prompts < NUM_ROWS
    assert set(server.answered.values()) == {1}


def matches(body: dict[str, Any]) -> Answer:
    """Which items are in which groups: of one pair, or of all pairs of two lists."""
    prompt = prompt_of(body)
    if pair := _PAIR.search(prompt):
        return chat(json.dumps({"answer": "yes" if _is_match(*map(int, pair.groups())) else "no"}))
    items = re.findall(r"^(\d+)\. item (\d+)$", prompt, re.MULTILINE)
    groups = re.findall(r"^(\d+)\. group (\d+)$", prompt, re.MULTILINE)
    found = [(int(i), int(j)) for i, item in items for j, each in groups if _is_match(int(item), int(each))]
    if 1 in (len(items), len(groups)):
        return chat(json.dumps({"matches": [pair[len(items) == 1] for pair in found]}))
    return chat(json.dumps({"matches": found}))


def _is_match(item: int, group: int) -> bool:
    return item * 7 % NUM_GROUPS == group


def test_a_join_over_batches_asks_no_pair_because_lists_wait(server: BatchServer) -> None:
    server.answer = matches
    con = relserve.connect(model=f"batch:{server.url}", progress=False)
    con.execute(f"CREATE TABLE a AS SELECT i, 'item ' || i AS x FROM range({NUM_ITEMS}) t(i)")
    con.execute(f"CREATE TABLE b AS SELECT j, 'group ' || j AS y FROM range({NUM_GROUPS}) t(j)")
    sql = "SELECT i, j, llm_filter('Is {} in {}?', x, y, join := 'blocks') FROM a, b"
    num_runs, found = 0, [(0, 0, None)]
    while None in {answer for *_, answer in found} and num_runs < 12:
        num_runs += 1
        found = con.sql(sql).fetchall()
        server.end_batches()
    assert num_runs > 1
    assert {(i, j) for i, j, is_kept in found if is_kept} == {
        (i, j) for i in range(NUM_ITEMS) for j in range(NUM_GROUPS) if _is_match(i, j)
    }
    assert sum(server.answered.values()) < NUM_ITEMS * NUM_GROUPS / 2
    plans = con.sql("SELECT join_plan FROM llm_queries() WHERE function = 'llm_filter' ORDER BY started")
    assert "cut short" in plans.fetchall()[0][0]
