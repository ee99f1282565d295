"""What a local model's rows keep: from a setting or from connect() to vLLM's arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from relserve import api
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
    assert args_of("hybrid", additional_config=told)["additional_config"] == told, (
        "what is nearer goes before"
    )


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


def test_connect_checks_the_word() -> None:
    with pytest.raises(UsageError, match="no kv_cache 'fp8'; there are: kv, hidden, hybrid"):
        api.connect(kv_cache="fp8")
    with pytest.raises(UsageError, match="give engine= or kv_cache=, not both"):
        api.connect(engine=ScriptedEngine(), kv_cache="hybrid")
    with pytest.raises(UsageError, match="'scripted' is none"):
        api.connect(model="scripted", kv_cache="hybrid")
