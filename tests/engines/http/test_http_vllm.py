"""The HTTP engine against a real `vllm serve`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from asking import ask, collect, submission_of, texts
from vllm_servers import SCHEDULER

from relserve.call.answer_types import Grammar
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import FailureKind, ModelError
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

YES_NO = Grammar(choices=("yes", "no"))
TEN = [f"Is {i} a lucky number?" for i in range(10)]


@pytest.fixture
def engine(serve_url):
    engine = HttpEngine(serve_url)
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)


def test_the_server_is_known_as_vllm_and_runs_our_scheduler(engine, vllm_server):
    assert set(texts(ask(engine, TEN, grammar=YES_NO))) <= {"yes", "no"}
    assert engine._server.dialect.is_vllm
    assert engine._server.model == "tiny"
    assert SCHEDULER in vllm_server.log.read_text()


def test_relserve_top_shows_what_the_server_has_to_do(engine, tmp_path):
    num = 20_000  # more than any machine answers before it is seen
    submission = submission_of([f"Tell all about {i}." for i in range(num)], max_tokens=60)
    command = [sys.executable, "-m", "relserve", "top", "--json", "--interval", "0.1"]
    seen = tmp_path / "top.jsonl"  # not a pipe, which fills while nobody reads and then stops it

    def shown() -> list[dict[str, Any]]:
        lines = [line for line in seen.read_text().splitlines(keepends=True) if line.endswith("\n")]
        rels = [rel for look in map(json.loads, lines) for each in look["engines"] for rel in each["rels"]]
        return [rel for rel in rels if rel["rel_id"] == submission.rel_id]

    with seen.open("w") as out, subprocess.Popen(command, stdout=out) as top:
        wait_until(seen.read_text)  # it is up
        asked = spawn(collect(engine, submission))
        try:
            wait_until(lambda: any(0 < rel["done"] < num and rel["left_s"] for rel in shown()), 200)
        finally:
            asked.cancel()
            top.terminate()
    assert {rel["rows"] for rel in shown()} == {num}


def test_completions_take_grammar_and_relquery_too(engine):
    ask(engine, ["start"])
    engine._server.dialect = replace(engine._server.dialect, chat=False)
    replies = ask(engine, TEN, "Say yes or no.", grammar=YES_NO)
    assert set(texts(replies)) <= {"yes", "no"}
    assert all(reply.failure is None for reply in ask(engine, TEN))


def test_a_grammar_that_vllm_cannot_read_refuses_the_rows_with_its_words(engine):
    replies = ask(engine, TEN[:2], grammar=Grammar(regex="[0-9"))
    assert [reply.failure.kind for reply in replies] == [FailureKind.REFUSED] * 2
    assert "regex" in replies[0].failure.message
    assert set(texts(ask(engine, TEN, grammar=YES_NO))) <= {"yes", "no"}


def test_what_vllm_refuses_of_the_sampling(engine):
    (reply,) = ask(engine, TEN[:1], temperature=5.0)
    assert reply.failure.kind is FailureKind.REFUSED
    assert "temperature must be in [0, 2]" in reply.failure.message


def test_the_context_ends_where_it_ends(engine):
    short, longer = (ask(engine, ["soup " * n], max_tokens=1)[0].usage.prompt_tokens for n in (100, 200))
    per_word = (longer - short) / 100
    edge = 200 + int((2048 - longer) / per_word)
    replies = ask(engine, ["soup " * n for n in range(edge - 8, edge + 9)], max_tokens=4)
    kinds = [reply.failure.kind if reply.failure else None for reply in replies]
    num_fitting = kinds.index(FailureKind.OVER_CONTEXT)
    assert 1 <= num_fitting < len(kinds)
    assert kinds == [None] * num_fitting + [FailureKind.OVER_CONTEXT] * (len(kinds) - num_fitting)


def test_a_model_that_is_not_served(serve_url):
    with pytest.raises(ModelError, match="does not serve 'huge'; it serves 'tiny'"):
        ask(HttpEngine(serve_url, served_model="huge"), TEN)
