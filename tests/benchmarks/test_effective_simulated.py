"""What `effective_simulated` is made of: the paper's models by their roofline, its tables, and the search."""

from __future__ import annotations

import pytest

from benchmarks.effective.attainment import RequestLimits
from benchmarks.effective_models import MODELS, WAYS
from benchmarks.effective_paper import OVER_VLLM, SETS, SLOS, TABLES_4_AND_5, VARIATIONS, slo_of
from benchmarks.effective_runs import (
    LEVELS,
    MAIN,
    SYSTEMS,
    EffectiveSetting,
    EffectiveSize,
    EffectiveSystem,
    measure,
    search,
)
from benchmarks.effective_simulated import Searched
from relserve.policies.caching.variants import NAMES

OPT_13B = MODELS["OPT-13B"]


def test_the_cache_holds_about_as_much_as_vllms_paper_says() -> None:
    """Its Table 1: 15,700 tokens of OPT-13B and 9,700 of OPT-66B, with a memory share of its own."""
    assert OPT_13B.kv_bytes == 819_200
    assert 0.85 < OPT_13B.kv_tokens / 15_700 < 1
    assert 0.7 < MODELS["OPT-66B"].kv_tokens / 9_700 < 1


def test_each_way_costs_what_its_bytes_and_its_arithmetic_cost() -> None:
    """Those of the note on hidden caches, microseconds a token: 0.62; 0.31 to 0.62; 4.19 GFLOP for a GEMM."""
    token_s = {way: OPT_13B.token_s(way) for way in WAYS}
    assert token_s["kv"] == pytest.approx(0.62e-6, rel=0.01)
    assert token_s["fp8"] == token_s["absorbed-once"] == token_s["kv"] / 2
    assert token_s["absorbed"] == pytest.approx(token_s["kv"])
    assert token_s["reproject"] == pytest.approx(4.19e9 / (0.7 * 312e12) + token_s["kv"] / 2, rel=0.01)
    with pytest.raises(ValueError, match="'swap'; there are kv"):
        OPT_13B.token_s("swap")


def test_split_over_gpus_hidden_states_cost_communication() -> None:
    large = MODELS["OPT-66B"]
    assert large.token_s("absorbed") > large.token_s("kv")
    assert large.token_s("reproject") > large.token_s("absorbed")


def test_fp8_and_hidden_states_put_twice_the_tokens_in_a_block() -> None:
    kv, fp8, hidden = (OPT_13B.engine(way) for way in ("kv", "fp8", "absorbed"))
    assert kv.memory.num_blocks == fp8.memory.num_blocks == hidden.memory.num_blocks
    assert fp8.memory.kv_tokens_per_block == hidden.memory.hidden_tokens_per_block
    assert fp8.memory.kv_tokens_per_block == 2 * kv.memory.kv_tokens_per_block
    assert fp8.times.costs.kv_token_s == kv.times.costs.kv_token_s / 2
    assert OPT_13B.engine("kv", 512, exclusive=False).limits.max_num_batched_tokens == 512


def test_the_papers_tables_are_whole() -> None:
    assert set(SLOS) == {(model, data) for model in MODELS for data in SETS}
    assert len(TABLES_4_AND_5) == 12
    assert {cv for _, _, cv in TABLES_4_AND_5} == set(VARIATIONS)
    assert all(cell.fcfs < cell.kv <= cell.hybrid for cell in TABLES_4_AND_5.values())
    assert set(OVER_VLLM) == set(LEVELS)
    assert slo_of("OPT-13B", "chat") == RequestLimits(1.0, 1.0)
    assert slo_of("OPT-66B", "meetings") == SLOS["OPT-66B", "summarisation"]


def test_every_system_names_a_policy_and_a_way() -> None:
    assert {system.variant for each in SYSTEMS.values() for system in each} <= set(NAMES)
    assert {system.way for each in SYSTEMS.values() for system in each} <= set(WAYS)
    assert set(MAIN) <= set(SYSTEMS)


@pytest.mark.long
def test_half_the_memory_a_token_serves_a_higher_rate() -> None:
    size = EffectiveSize(num_requests=120, seeds=(1,))
    places = {("OPT-13B", "sharegpt", SYSTEMS[name][0]): name for name in ("vLLM", "absorbed FCFS")}
    found = {place: search(*place, size) for place in places}
    searched = Searched(found)
    for metric in ("attained", "strict"):
        assert searched.ratio("OPT-13B", "sharegpt", "absorbed FCFS", metric, 0.9) > 1.2
    assert ("attained", 0.6) not in found["OPT-13B", "sharegpt", SYSTEMS["absorbed FCFS"][0]].rates
    rates = found["OPT-13B", "sharegpt", SYSTEMS["vLLM"][0]].rates
    assert rates["strict", 0.9] <= rates["attained", 0.9] < rates["attained", 0.6]


def test_a_system_is_shown_with_its_best_setting() -> None:
    places = [("OPT-13B", "sharegpt", system) for system in SYSTEMS["Sarathi"]]
    found = {place: search(*place, EffectiveSize(40, (1,))) for place in places}
    system, best = Searched(found).best("OPT-13B", "sharegpt", "Sarathi")
    assert best.rates["attained", 0.9] == max(each.rates["attained", 0.9] for each in found.values())
    assert found["OPT-13B", "sharegpt", system] is best


def test_seeds_are_averaged_and_the_worst_wait_kept() -> None:
    setting, system = EffectiveSetting("OPT-13B", "sharegpt", 6.0, 1.0), EffectiveSystem("fcfs", "kv")
    one, two = (measure(setting, system, EffectiveSize(60, (seed,))) for seed in (1, 2))
    both = measure(setting, system, EffectiveSize(60, (1, 2)))
    assert both.attained == pytest.approx((one.attained + two.attained) / 2)
    assert both.worst_ttft_s == max(one.worst_ttft_s, two.worst_ttft_s)
