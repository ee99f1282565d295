"""Batches in SQL: what a statement gives at once, what tells how they stand, limits, caps and money."""

from __future__ import annotations

import math

import pytest
from batch_server import BatchServer, by_prompt, chat, prompt_of

import relserve
from relserve.api import Connection
from relserve.errors import RowError, RowsFailedWarning

CLASSIFY = "llm_classify('Mood of {}?', i, choices := ['good', 'bad'])"
MOODS = f"SELECT {CLASSIFY} FROM range(10) t(i) ORDER BY i"


@pytest.fixture
def con(server: BatchServer) -> Connection:
    return relserve.connect(model=f"batch:{server.url}", progress=False)


def test_a_statement_tells_that_its_rows_are_in_a_batch_and_takes_them_when_it_has_ended(server, con):
    with pytest.warns(RowsFailedWarning, match="^9 of 10 rows are NULL until their batch ends; see llm_b"):
        con.execute(MOODS)
    kinds = con.execute("SELECT kind, count(*) FROM llm_errors() GROUP BY kind").fetchall()
    assert kinds == [("in_batch", 9)]
    columns = "SELECT model, state, rows, answered, failed FROM llm_batches()"
    assert con.execute(columns).fetchall() == [(con.session.find_engine(None).model, "in_progress", 9, 0, 0)]
    server.end_batches()
    assert con.execute(columns).fetchone()[1:] == ("completed", 9, 9, 0)
    rows = con.execute(MOODS).fetchall()
    assert {mood for (mood,) in rows} == {"good", "bad"}
    with relserve.connect(model=server.url, progress=False) as direct:
        assert direct.execute(MOODS).fetchall() == rows
        asked = direct.execute("SELECT answered, cached_answers FROM llm_queries()").fetchall()
    assert asked == [(10, 10)]  # what came of a batch is kept as what was asked at once
    used = con.execute("SELECT sum(requests), sum(prompt_tokens) FROM llm_usage()").fetchall()
    assert used == [(10, 100)]


def test_on_error_raise_says_it_after_the_batch_was_sent(server, con):
    call = CLASSIFY.replace("])", "], on_error := 'raise')")
    with pytest.raises(RowError, match=r"in batch rb-\w+ \(in_progress\): run the statement again when"):
        con.execute(f"SELECT {call} FROM range(10) t(i)")
    assert len(server.batches) == 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning")
def test_a_limit_sends_the_rows_that_it_likely_needs_and_the_next_run_goes_on(server, con):
    server.answer = lambda body: chat('{"answer": "%s"}' % ("yes" if prompt_of(body)[-2] in "37" else "no"))
    sql = "SELECT i FROM range(5000) t(i) WHERE llm_filter('Is it lucky, this {}?', i) LIMIT 30"
    found: list[int] = []
    while not found or (found[-1] < 30 and len(found) < 20):
        found.append(len(con.execute(sql).fetchall()))
        server.end_batches()
    assert (found[0], found[-1]) == (0, 30)
    assert 150 <= sum(server.answered.values()) < 1000
    assert set(server.answered.values()) == {1}


@pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning")
def test_a_cap_holds_rows_back_and_a_larger_one_sends_them(server, con):
    capped = CLASSIFY.replace("])", "], max_rows := 4)")
    with pytest.raises(relserve.errors.SpendingError, match="max_rows := 4"):
        con.execute(f"SELECT {capped} FROM range(10) t(i)")
    assert not server.batches
    few = relserve.connect(model=f"batch:{server.url}", progress=False, max_rows=6)
    few.execute(MOODS.replace("range(10)", "range(6)"))
    assert [batch["request_counts"]["total"] for batch in server.batches.values()] == [5]


@pytest.mark.long
def test_money_is_told_at_the_price_of_batches(server, tmp_path, monkeypatch):
    file = tmp_path / "prices.toml"
    file.write_text(f'["batch:{server.url}#made-up"]\ninput = 1.0\noutput = 2.0\n', encoding="utf-8")
    monkeypatch.setenv("RELSERVE_PRICES", str(file))
    server.answer = by_prompt
    with relserve.connect(model=f"batch:{server.url}#made-up", progress=False) as con:
        with pytest.warns(RowsFailedWarning):
            con.execute(MOODS)
        server.end_batches()
        con.execute(MOODS)
        (cost,) = con.execute("SELECT sum(cost) FROM llm_queries()").fetchone()
    assert cost == pytest.approx(10 * (10 * 1.0 + 2 * 2.0) / 1e6)


@pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning")
def test_probabilities_are_those_of_the_server_asked_at_once(server, con):
    def answer(body):
        yes = 0.1 + 0.08 * int(prompt_of(body)[-2])
        tokens = [{"token": t, "logprob": math.log(p)} for t, p in (("yes", yes), ("no", 1 - yes))]
        status, reply = chat("yes")
        reply["choices"][0]["logprobs"] = {"content": [{**tokens[0], "top_logprobs": tokens}]}
        return status, reply

    server.answer = answer
    sql = "SELECT llm_prob('Is it good, this {}?', i) FROM range(10) t(i) ORDER BY i"
    con.execute(sql)
    server.end_batches()
    rows = con.execute(sql).fetchall()
    assert rows[3] == (pytest.approx(0.34),)
    with relserve.connect(model=server.url, progress=False, cache=False) as direct:
        assert direct.execute(sql).fetchall() == rows
