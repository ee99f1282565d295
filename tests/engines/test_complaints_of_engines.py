"""What users of other systems complain of, where it takes a server or a real engine.

Each complaint is a test named after it; the others are in tests/duckdb_ext/test_complaints.py.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_fakes import Answered, said

from relserve.api import Connection, connect
from relserve.engines.http import rows as http_rows
from relserve.engines.http.engine import HttpEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineStartError
from tests.waiting import PATIENCE_S, act_when, frozen


@pytest.fixture
def con(local_engine: LocalEngine) -> Iterator[Connection]:
    """A connection to a real vLLM."""
    with connect(engine=local_engine, progress=False) as con:
        yield con


def test_daft_5678_rate_limits_are_waited_out(fake, monkeypatch) -> None:
    monkeypatch.setattr(http_rows, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.LONGEST_PAUSE_S", 0.1)
    asked: list[str] = []

    async def every_third_is_too_many(body):
        asked.append(body["messages"][-1]["content"])
        if len(asked) % 3 == 0:
            return Answered(429, {"error": {"message": "rate limit reached"}}, {"Retry-After-Ms": "20"})
        return said(asked[-1])

    with connect(engine=HttpEngine(fake(every_third_is_too_many).url), progress=False) as con:
        rows = con.execute("SELECT i, llm('row {}', i) FROM range(50) r(i)").fetchall()
        assert rows == [(i, f"row {i}") for i in range(50)]
        assert con.execute("SELECT count(*) FROM llm_errors()").fetchall() == [(0,)]
    assert len(asked) > 50


@pytest.mark.vllm
def test_ray_59194_and_vllm_16732_one_over_long_prompt_is_one_null(con: Connection) -> None:
    rows = con.execute(
        "SELECT i, llm('Say {}', repeat('beer ', if(i = 13, 20000, 1)::INT) || i, max_tokens := 2) "
        "FROM range(60) r(i)"
    ).fetchall()
    assert [i for i, answer in rows if answer is None] == [13]
    ((kind, message),) = con.execute("SELECT kind, message FROM llm_errors()").fetchall()
    assert kind == "over_context"
    assert "context holds" in message


@pytest.mark.long
@pytest.mark.vllm
def test_vllm_10777_bad_rows_stay_in_their_place_among_the_good_ones(con: Connection) -> None:
    texts = ["fine", "", "x " * 200_000, "🦆" * 50, "fine", "y " * 200_000, "last"]
    con.execute("CREATE OR REPLACE TEMP TABLE odd AS SELECT unnest($1::VARCHAR[]) AS t", [texts])
    rows = con.execute("SELECT t, llm('About: {}', t, max_tokens := 3) FROM odd").fetchall()
    assert [t for t, _ in rows] == texts
    assert [answer is None for _, answer in rows] == [len(t) > 1000 for t in texts]
    assert rows[0][1] == rows[4][1]


@pytest.mark.vllm
def test_blendsql_31_answers_stay_inside_choices(con: Connection) -> None:
    choices = ["Traditional", "Home and Hospital", "Continuation School", "Other"]
    rows = con.execute(
        "SELECT llm_classify('What type of school is number {}?', i, choices := $1, temperature := 2) "
        "FROM range(100) r(i)",
        [choices],
    ).fetchall()
    assert {answer for (answer,) in rows} <= set(choices)


@pytest.mark.long
@pytest.mark.vllm
def test_ray_59522_one_engine_death_does_not_end_the_job(model_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    local = LocalEngine("tiny", str(model_path))
    with connect(engine=local, progress=False) as con:
        con.execute("SELECT llm('warm up', max_tokens := 1)").fetchall()
        dead = local.pid
        assert dead is not None
        with frozen(dead):
            killer = act_when(lambda: local.num_unfinished, lambda: os.kill(dead, signal.SIGKILL))
            text = "SELECT i, llm('Tell of {}', i, max_tokens := 60) FROM range(200) r(i)"
            rows = con.execute(text).fetchall()
            killer.join()
    assert [i for i, answer in rows if answer is None] == []
    assert len(rows) == 200
    assert local.pid not in (None, dead)
    spawn(local.close()).result(timeout=PATIENCE_S)


@pytest.mark.long
@pytest.mark.vllm
def test_ray_59986_an_engine_without_enough_memory_is_an_error_and_no_hang(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    engine = LocalEngine("tiny", str(model_path), engine_args={"num_gpu_blocks_override": 1})
    with (
        connect(engine=engine, progress=False) as con,
        pytest.raises(EngineStartError, match="did not start"),
    ):
        con.execute("SELECT llm('hi')").fetchall()
    assert engine.pid is None


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_ray_59986_cuda_out_of_memory_is_an_error_and_no_hang(model_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("an out-of-memory error of CUDA takes a GPU")
    engine = LocalEngine("tiny", str(model_path), engine_args={"gpu_memory_utilization": 0.00001})
    with (
        connect(engine=engine, progress=False) as con,
        pytest.raises(EngineStartError, match="did not start"),
    ):
        con.execute("SELECT llm('hi')").fetchall()
    assert engine.pid is None
