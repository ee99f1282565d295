"""Cascades over PostgreSQL's protocol."""

from __future__ import annotations

from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from tests.server.client.conftest import Serve, connect

GOOD = ("good", "warm", "kind")
FILL = """
CREATE TABLE mails AS
SELECT i, ['good', 'warm', 'kind', 'bad', 'cold', 'rude', 'slow'][i % 7 + 1] || ' mail ' || i AS x
FROM range(900) t(i)
"""
FILTER = "llm_filter('Is it good? {}', x, cascade := 'embedding', precision := 0.9, recall := 0.9)"


def answer(prompt: str, submission: Submission) -> str:
    return "yes" if any(word in prompt.split() for word in GOOD) else "no"


def test_a_client_has_what_is_learnt_decide_most_rows(serve: Serve) -> None:
    engine = ScriptedEngine(answer, model="large")
    con = connect(serve(engine), autocommit=True)
    con.execute(FILL)
    (explained,) = con.execute(f"EXPLAIN SELECT x FROM mails WHERE {FILTER}").fetchall()[-1:]
    assert "is a cascade: large likely answers" in " ".join(explained[-1].split())
    kept = {x for (x,) in con.execute(f"SELECT x FROM mails WHERE {FILTER}").fetchall()}
    good = {x for (x,) in con.execute("SELECT x FROM mails WHERE i % 7 < 3").fetchall()}
    assert len(kept & good) >= 0.9 * max(len(kept), len(good))
    assert engine.num_prompts < 450
    told = con.execute("SELECT function, model, cascade FROM llm_queries() ORDER BY rel_id").fetchall()
    assert {each[:2] for each in told} == {("llm_embed", "wordllama"), ("llm_filter", "large")}
    assert all(f"{engine.num_prompts} of 900 prompts asked" in each[2] for each in told)
