"""Settings of the hybrid cache: read, checked, and said in words what is wrong."""

from __future__ import annotations

from functools import wraps
from typing import Any

import pytest

from relserve.errors import UsageError
from relserve.policies.caching.variants import NAMES
from relserve.vllm_plugin.settings import CACHES, SchedulerSettings, read


def test_keys_and_values_are_the_default() -> None:
    settings = SchedulerSettings()
    assert (settings.cache, settings.caching, settings.ttft_slo_s, settings.tpot_slo_s) == (
        "kv",
        "",
        0.0,
        0.0,
    )


def test_the_earlier_name_of_the_limit_on_tokens_is_read() -> None:
    assert read({"relserve": {"tbt_slo_s": 0.2}}).tpot_slo_s == 0.2


@pytest.mark.parametrize(
    ("said", "name", "now"),
    [
        ({"caching": "ours"}, "caching", "steady"),
        ({"caching": "ours-kv"}, "caching", "steady-kv"),
        ({"step_budget": "ours"}, "step_budget", "slack"),
        ({"step_budget": "ours-in-order"}, "step_budget", "slack-in-order"),
    ],
)
def test_earlier_names_of_policies_are_read(said: Any, name: str, now: str) -> None:
    assert getattr(read({"relserve": said}), name) == now


@pytest.mark.cells(10)
@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("caching", ["", *NAMES])
def test_every_combination_can_be_said(cache: str, caching: str) -> None:
    said = {"cache": cache, "caching": caching, "ttft_slo_s": 0.5, "tpot_slo_s": 1}
    settings = read({"relserve": said})
    assert {name: getattr(settings, name) for name in said} == said


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"cache": "hidden states"}, "no cache 'hidden states'; there are: kv, hidden, hybrid"),
        ({"caching": "aptserve"}, "no caching policy 'aptserve'; there are: fcfs"),
        ({"caching": "apt", "variant": "stock"}, "leave one of them out"),
        ({"ttft_slo_s": "1 s"}, "ttft_slo_s is a number of seconds.*not '1 s'"),
        ({"tbt_slo_s": -1}, "tpot_slo_s is a number of seconds"),
        (
            {"tbt_slo_s": 1, "tpot_slo_s": 1},
            "tbt_slo_s is what tpot_slo_s was called before; leave tbt_slo_s",
        ),
        ({"tpot_slo_s": -1}, "tpot_slo_s is a number of seconds"),
        ({"tpot_slo_s": float("nan")}, "tpot_slo_s is a number of seconds"),
        ({"tpot_slo_s": True}, "tpot_slo_s is a number of seconds"),
        ({"tpot_slo_s": 10**400}, "tpot_slo_s is a number of seconds"),
        (5, "relserve's settings are a mapping of names to values, not 5"),
        ([], "relserve's settings are a mapping"),
    ],
)
def test_nonsense_is_refused(said: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read({"relserve": said})


@pytest.mark.vllm
def test_a_wrapper_of_others_does_not_keep_ours_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another plug-in that wrapped vLLM's function first; and one around ours, which stays alone."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    from relserve.vllm_plugin.cache import engine_config, vllm_parts

    looked: list[Any] = []
    monkeypatch.setattr(engine_config, "prepare", looked.append)
    monkeypatch.setattr(vllm_parts.ModelRegistry, "register_model", lambda *_: None)

    def stock(_self: Any) -> str:
        return "a configuration"

    def around(inner: Any) -> Any:
        @wraps(inner)
        def others(*args: Any) -> Any:
            return inner(*args)

        return others

    monkeypatch.setattr(vllm_parts.EngineArgs, "create_engine_config", around(stock))
    engine_config.install()
    monkeypatch.setattr(
        vllm_parts.EngineArgs, "create_engine_config", around(vllm_parts.EngineArgs.create_engine_config)
    )
    engine_config.install()
    made: Any = vllm_parts.EngineArgs.create_engine_config
    assert made(None) == "a configuration"
    assert looked == ["a configuration"]
