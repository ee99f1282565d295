"""What a local model's rows keep: from a setting or from connect() to vLLM's arguments."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from relserve import api
from relserve.engines.local.told_args import refusal
from relserve.engines.registry import Engines, engine_args_of
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import UsageError
from relserve.settings import Settings, load


def args_of(kv_cache: str, **engine_args: Any) -> dict[str, Any]:
    return dict(engine_args_of(replace(Settings(), kv_cache=kv_cache, engine_args=engine_args)))


def test_the_setting_becomes_an_argument_of_vllm() -> None:
    assert args_of("kv", max_num_seqs=4) == {"max_num_seqs": 4}
    assert args_of("hybrid", max_num_seqs=4) == {
        "max_num_seqs": 4, "additional_config": {"relserve": {"cache": "hybrid"}},
    }  # fmt: skip
    told = {"other": 1, "relserve": {"variant": "fcfs"}}
    assert args_of("hidden", additional_config=told)["additional_config"] == {
        "other": 1, "relserve": {"variant": "fcfs", "cache": "hidden"},
    }  # fmt: skip
    told = {"relserve": {"cache": "hidden"}}
    assert args_of("hidden", additional_config=told)["additional_config"] == told
    assert args_of("kv", additional_config=told)["additional_config"] == told


@pytest.mark.parametrize("kv_cache", ["kv", "hybrid"])
def test_vllms_arguments_do_not_override_what_a_caller_insists_on(kv_cache: str) -> None:
    settings = replace(
        Settings(), engine="own", engine_args={"additional_config": {"relserve": {"cache": "hidden"}}}
    )
    for _ in range(2):  # a refused engine is not remembered
        with pytest.raises(
            UsageError, match=f"kv_cache is '{kv_cache}', but .*'cache'. = 'hidden'; leave one"
        ):
            Engines().find("tiny", settings, kv_cache)
    engines = Engines()
    engine = engines.find("tiny", settings, "hidden")
    assert engines.find("tiny", settings) is engine
    with pytest.raises(UsageError, match="runs already, with kv_cache='hidden'"):
        engines.find("tiny", settings, kv_cache)


@pytest.mark.parametrize("kv_cache", ["kv", "hybrid"])
@pytest.mark.parametrize(
    ("given", "named"), [(5, "additional_config"), ({"relserve": 5}, r"additional_config\['relserve'\]")]
)
def test_arguments_that_are_no_mapping_are_refused(kv_cache: str, given: Any, named: str) -> None:
    with pytest.raises(UsageError, match=f"argument {named} is a mapping of names to values, not 5"):
        args_of(kv_cache, additional_config=given)


def test_what_an_engine_came_up_with_is_no_reason_to_refuse() -> None:
    """One that was asked for hybrid and keeps keys and values serves those who ask for either."""
    engines, settings = Engines(), replace(Settings(), engine="own")
    engine: Any = engines.find("tiny", settings, "hybrid")
    assert engine.kv_cache == "hybrid"
    engine.kv_cache = "kv"  # as it finds it when it has come up
    assert engines.find("tiny", settings, "kv") is engines.find("tiny", settings, "hybrid") is engine
    with pytest.raises(UsageError, match="runs already, with kv_cache='kv'"):
        engines.find("tiny", settings, "hidden")


def test_the_environment_says_it() -> None:
    assert load({"RELSERVE_KV_CACHE": " Hybrid "}).kv_cache == "hybrid"
    with pytest.raises(UsageError, match="RELSERVE_KV_CACHE='fp8' cannot be read"):
        load({"RELSERVE_KV_CACHE": "fp8"})


def test_an_engine_is_made_as_the_first_asked_and_nobody_gets_another_unawares() -> None:
    engines, settings = Engines(), replace(Settings(), engine="own")
    engine: Any = engines.find("tiny", settings, "hybrid")
    assert engine._engine_args["additional_config"] == {"relserve": {"cache": "hybrid"}}
    assert engines.find("tiny", settings) is engines.find("tiny", settings, "hybrid") is engine
    with pytest.raises(UsageError, match=r"runs already, with kv_cache='hybrid'.*close_engines\('tiny'\)"):
        engines.find("tiny", settings, "kv")
    engines.close("tiny")
    again: Any = engines.find("tiny", settings, "kv")
    assert "additional_config" not in again._engine_args


def test_models_that_run_elsewhere_have_their_own() -> None:
    with pytest.raises(
        UsageError, match="for models that relserve runs on this machine, and 'scripted' is none"
    ):
        Engines().find("scripted", Settings(), "hybrid")
    assert Engines().find("scripted", Settings(), "kv")


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_an_engine_that_keeps_something_else_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    forbids = pytest.importorskip("relserve.vllm_plugin.cache.what_forbids", reason="vLLM is not installed")
    monkeypatch.setattr(forbids, "what_forbids_hidden", lambda _config: ["2 heads of keys", "LoRA"])

    def config(cache: str) -> Any:
        return SimpleNamespace(additional_config={"relserve": {"cache": cache}})

    asked = {"additional_config": {"relserve": {"cache": "hybrid"}}}
    expected = "its rows keep keys and values, not 'hybrid', because of 2 heads of keys; LoRA"
    assert refusal(asked, config("kv")) == expected
    assert refusal(asked, config("hybrid")) is None
    assert refusal({}, config("kv")) is None


def test_connect_checks_the_word() -> None:
    with pytest.raises(UsageError, match="no kv_cache 'fp8'; there are: kv, hidden, hybrid"):
        api.connect(kv_cache="fp8")
    with pytest.raises(UsageError, match="no kv_cache 5; there are"):
        api.connect(kv_cache=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'scripted' is none"):
        api.connect(model="scripted", kv_cache=" Hybrid ")
    api.connect(model="scripted", kv_cache="KV").close()
    with pytest.raises(UsageError, match="give engine= or kv_cache=, not both"):
        api.connect(engine=ScriptedEngine(), kv_cache="hybrid")
    with pytest.raises(UsageError, match="'scripted' is none"):
        api.connect(model="scripted", kv_cache="hybrid")
