"""A real model under step budgets: the same tokens whatever the budget, and limits from SQL that arrive."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import relserve
from relserve.engines.registry import own_engine, path_of
from relserve.machine.engine_status import BudgetStatus, read_engines, state_dir
from relserve.policies.budget.variants import make
from relserve.policies.scheduling.variants import DEFAULT
from relserve.settings import load
from relserve.tiny import MODEL_DIR
from tests.vllm_plugin.budget.random_budgets import RandomBudgets
from tests.vllm_plugin.test_real_outputs import VARIABLES, requests

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Engines of two variants, one after the other."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    made: list[Any] = []

    def start(variant: str) -> Any:
        made.append(
            vllm.LLM(
                str(MODEL_DIR), dtype="float32", enforce_eager=True, block_size=32, max_model_len=256,
                max_num_seqs=16, max_num_batched_tokens=256, enable_prefix_caching=True,
                num_gpu_blocks_override=48, scheduler_cls="relserve.vllm_plugin.scheduler.make",
                additional_config={"relserve": {"variant": variant}},
            )
        )  # fmt: skip
        return made[-1]

    yield start
    for each in made:
        each.llm_engine.engine_core.shutdown()


@pytest.mark.parametrize("variant", ["stock", DEFAULT])
def test_random_budgets_change_no_token(engines: Any, variant: str) -> None:
    engine = engines(variant)
    scheduler = engine.llm_engine.engine_core.engine_core.scheduler
    prompts, params = requests()
    for i, each in enumerate(params):
        each.extra_args |= {"rel_ttft_slo_s": 0.5, "rel_tpot_slo_s": 0.02} if i % 3 else {}
    said = []
    for policy in ("static-256", RandomBudgets(1), "slack", "lens", "static-17"):
        scheduler.budgets.use(make(policy) if isinstance(policy, str) else policy)
        engine.reset_prefix_cache()
        outputs = engine.generate(prompts, params, use_tqdm=False)
        said.append([tuple(each.outputs[0].token_ids) for each in outputs])
        assert scheduler.budgets.num_decisions > 10
        pool = scheduler.kv_cache_manager.block_pool
        assert pool.get_num_free_blocks() == pool.num_gpu_blocks - 1
    assert all(tokens == said[0] for tokens in said[1:])


def test_limits_from_sql_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The class of a call bounds the engine's steps, and its status tells so."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"quick": {"ttft": "5 s", "tpot": "30 ms"}}')
    engine: Any = own_engine("tiny", path_of("tiny"), load(), lambda _text: None)
    con = relserve.connect(engine=engine, progress=False)
    con.execute("SELECT llm('Say {}', i::VARCHAR, max_tokens := 4) FROM range(8) t(i)").fetchall()
    before = budget_of(engine)
    assert (before.limited, before.least_step_s) == (0, None)  # without limits no step is measured
    found = con.execute(
        "SELECT llm('Say {}', repeat('word ', 40) || i, slo := 'quick', max_tokens := 40) FROM range(60) t(i)"
    ).fetchall()
    assert all(text for (text,) in found)
    status = budget_of(engine)
    assert status.policy == "slack"
    assert status.least_step_s is not None
    relserve.engines.loop.spawn(engine.close()).result()


def budget_of(engine: Any) -> BudgetStatus:
    """What the engine's file says, when it is new."""
    del engine
    time.sleep(1.5)
    (status,) = read_engines(state_dir())
    assert status.budget is not None
    return status.budget
