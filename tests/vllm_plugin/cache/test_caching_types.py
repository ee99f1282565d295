"""As what rows are admitted: what somebody insists on, a request's word, a plan's, the default."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("relserve.vllm_plugin.cache.scheduling_types", reason="vLLM is not installed")
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel
from relserve.vllm_plugin.cache.scheduling_choice import AdmissionType
from relserve.vllm_plugin.cache.scheduling_costs import guessed_costs
from relserve.vllm_plugin.cache.scheduling_host import ModelShape
from relserve.vllm_plugin.cache.scheduling_types import RowTypes

STEPS = CostModel(2e-5, 3e-3, 1e-4, 5e-3)
OPT = ModelShape(512, 2, 2048, is_rotary=False)
LLAMA = ModelShape(512, 3, 1408, is_rotary=True)


class Manager(SimpleNamespace):
    """Blocks of 32 tokens' keys and values, or 64 tokens' hidden states."""

    hidden_tokens_per_block = 64

    def set_kind(self, request_id: str, hidden: bool) -> None:
        (self.hidden.add if hidden else self.hidden.discard)(request_id)

    def is_hidden(self, request_id: str) -> bool:
        return request_id in self.hidden


def scheduler_of(num_free: int = 10, num_running: int = 4) -> Any:
    pool = SimpleNamespace(num_gpu_blocks=101, get_num_free_blocks=lambda: num_free)
    coordinator = SimpleNamespace(single_type_managers=[Manager(hidden=set())])
    manager = SimpleNamespace(block_pool=pool, coordinator=coordinator, num_kv_cache_groups=1)
    return SimpleNamespace(
        kv_cache_manager=manager,
        block_size=32,
        running=[None] * num_running,
        max_num_active_reqs=64,
        max_num_scheduled_tokens=256,
    )


def row_of(num_tokens: int) -> Any:
    """A row that waits."""
    return SimpleNamespace(request_id="r", num_tokens=num_tokens)


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowTypes, "num_cached_as", lambda *_: 0)


def request(wants: Any = None) -> Any:
    args = {} if wants is None else {"rel_cache": wants}
    return SimpleNamespace(request_id="r", sampling_params=SimpleNamespace(extra_args=args))


def test_who_goes_before_whom() -> None:
    types = RowTypes(scheduler_of(), "hybrid")
    asks, plain = request("kv"), request()
    assert types.of_admission(plain) == types.default == "kv"
    types.planned = {"r": "hidden"}
    assert (types.of_admission(plain), types.of_admission(asks)) == ("hidden", "kv")
    types.insist("r", "hidden")
    assert types.of_admission(asks) == "hidden"
    types.forget("r")
    types.planned = {}
    assert types.of_admission(plain) == "kv"


@pytest.mark.parametrize(("mode", "others"), [("kv", "kv"), ("hidden", "hidden")])
def test_where_all_rows_are_alike_plans_change_nothing(mode: str, others: str) -> None:
    types = RowTypes(scheduler_of(), mode)
    types.planned = {"r": "hidden" if others == "kv" else "kv"}
    assert not types.is_free
    assert types.of_admission(request()) == others
    assert types.of_admission(request("hidden")) == ("hidden" if mode == "hidden" else "kv")


def test_nonsense_counts_as_no_word() -> None:
    types = RowTypes(scheduler_of(), "hidden")
    assert [types.of_admission(request(wants)) for wants in ("HIDDEN", 1, ["kv"], "kv")] == [
        "hidden", "hidden", "hidden", "kv",
    ]  # fmt: skip


def test_memory_is_counted_in_tokens_of_the_type() -> None:
    types = RowTypes(scheduler_of(num_free=10), "hybrid")
    assert (types.num_free_tokens("kv"), types.num_free_tokens("hidden")) == (320, 640)
    assert (types.num_tokens("kv"), types.num_tokens("hidden")) == (101 * 32, 101 * 64)


def test_a_row_that_comes_back_as_the_other_type_is_a_switch() -> None:
    scheduler = scheduler_of()
    manager, types = (
        scheduler.kv_cache_manager.coordinator.single_type_managers[0],
        RowTypes(scheduler, "hybrid"),
    )
    for was, is_now, expected in ((False, True, 1), (True, True, 1), (True, False, 2)):
        manager.set_kind("r", was)
        types.dropped(request())
        manager.set_kind("r", is_now)
        types.resumed(request())
        assert types.num_switched == expected


def test_the_guess_is_the_work_that_is_done_anew() -> None:
    assert guessed_costs(STEPS, OPT, absorbs=True).rho == 0, "all is absorbed"
    keys, both = guessed_costs(STEPS, LLAMA, absorbs=True).rho, guessed_costs(STEPS, LLAMA, absorbs=False).rho
    assert both == pytest.approx(2 * keys)
    # Of 4 d^2 + 3 d f multiplications a token in a layer, d^2 make its key.
    assert keys == pytest.approx(STEPS.prefill_per_token_s * 512 / (4 * 512 + 3 * 1408))


@pytest.mark.parametrize(
    ("num_waiting", "hidden_s", "expected"),
    [(40, 0.0, "hidden"), (40, 1e-3, "kv"), (2, 1e-9, "kv"), (40, 1e-9, "hidden")],
    ids=["costs nothing", "costs more than it gains", "room for all as keys and values", "lets more in"],
)
def test_rows_come_in_hidden_where_that_pays(num_waiting: int, hidden_s: float, expected: str) -> None:
    scheduler = scheduler_of(num_free=20)
    types = RowTypes(scheduler, "hybrid")
    costs = CacheCosts(STEPS, 0.0, hidden_s)
    AdmissionType(scheduler, types).choose(num_waiting, row_of(150), 50.0, costs)
    assert types.default == expected


def test_rows_whose_prefix_would_be_made_again_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 150 tokens 140 are in the prefix cache: 20 us each, once, are as much as 50 steps bring."""
    scheduler = scheduler_of(num_free=20)
    types = RowTypes(scheduler, "hybrid")
    costs = CacheCosts(STEPS, 0.0, 0.0, made_token_s=2e-4)
    chosen = []
    for cached in (0, 140):
        monkeypatch.setattr(RowTypes, "num_cached_as", lambda *_, cached=cached: cached)
        AdmissionType(scheduler, types).choose(40, row_of(150), 50.0, costs)
        chosen.append(types.default)
    assert chosen == ["hidden", "kv"]


def test_nonsense_is_logged_once_an_engine(caplog: pytest.LogCaptureFixture) -> None:
    """Not once a request, nor once a text: a client may send as many of them as it likes."""
    caplog.set_level("WARNING", logger=RowTypes.__module__)
    for engine in (1, 2):
        types = RowTypes(scheduler_of(), "hybrid")
        for number in range(40):
            assert types.of_admission(request(f"nonsense {number % 9}")) == "kv"
        assert len(caplog.records) == engine
    assert "a request asks for rel_cache 'nonsense 0'; there are: kv, hidden" in caplog.text
