"""Who bounds a local model's steps: connections, settings and vLLM's arguments, and where they differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from relserve import api
from relserve.engines.registry import Engines, engine_args_of
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import UsageError
from relserve.policies.budget.variants import NAMES, make
from relserve.settings import Settings, load, step_budget_of
from relserve.vllm_plugin.settings import SchedulerSettings, read


def args_of(step_budget: str, **engine_args: Any) -> dict[str, Any]:
    return dict(engine_args_of(replace(Settings(), step_budget=step_budget, engine_args=engine_args)))


def test_the_scheduler_is_told_only_what_is_not_its_own_default() -> None:
    assert args_of("slack") == {}
    assert args_of("static-256") == {"additional_config": {"relserve": {"step_budget": "static-256"}}}
    both = replace(Settings(), step_budget="off", kv_cache="hybrid")
    ours = engine_args_of(both)["additional_config"]["relserve"]
    assert ours == {"cache": "hybrid", "step_budget": "off"}
    assert read({"relserve": {}}).step_budget == SchedulerSettings().step_budget == Settings().step_budget


@pytest.mark.parametrize("name", [*NAMES, "static-7", "off"])
def test_all_policies_can_be_named_everywhere(name: str) -> None:
    assert step_budget_of(f" {name.upper()} ") == name
    assert load({"RELSERVE_STEP_BUDGET": name}).step_budget == name
    assert read({"relserve": {"step_budget": name}}).step_budget == name
    assert name == "off" or make(name).name == name


@pytest.mark.parametrize(("former", "now"), [("ours", "slack"), ("ours-in-order", "slack-in-order")])
def test_earlier_names_are_read_everywhere(former: str, now: str) -> None:
    assert load({"RELSERVE_STEP_BUDGET": former}).step_budget == step_budget_of(former) == now
    assert make(former).name == now
    told = {"additional_config": {"relserve": {"step_budget": former}}}
    if now != "slack":  # which is what is taken where nobody says
        assert args_of(now, **told)["additional_config"]["relserve"]["step_budget"] == now


@pytest.mark.parametrize("name", ["fastest", "static-0", "static-", "static--3", "lens-5", "pressure", ""])
def test_what_is_no_policy_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"no step_budget '{name}'; there are: slack, lens, static-N"):
        api.connect(step_budget=name)
    if name:
        with pytest.raises(UsageError, match=r"RELSERVE_STEP_BUDGET=.* cannot be read"):
            load({"RELSERVE_STEP_BUDGET": name})
    with pytest.raises(UsageError, match=r"step_budget: no budget policy .*; or 'off'"):
        read({"relserve": {"step_budget": name}})


def test_vllms_arguments_do_not_override_what_a_caller_insists_on() -> None:
    told = {"additional_config": {"relserve": {"step_budget": "lens"}}}
    assert args_of("slack", **told) == told  # nobody insists
    assert args_of("lens", **told) == told
    with pytest.raises(UsageError, match=r"step_budget is 'off', but .*'step_budget'. = 'lens'; leave one"):
        args_of("off", **told)
    settings = replace(Settings(), engine="own", engine_args=told)
    with pytest.raises(UsageError, match="step_budget is 'slack', but"):
        Engines().find("tiny", settings, step_budget="slack")


def test_an_engine_is_made_as_the_first_asked_and_nobody_gets_another_unawares() -> None:
    engines, settings = Engines(), replace(Settings(), engine="own")
    engine: Any = engines.find("tiny", settings, step_budget="lens")
    assert engine._engine_args["additional_config"] == {"relserve": {"step_budget": "lens"}}
    assert engines.find("tiny", settings) is engines.find("tiny", settings, step_budget="lens") is engine
    with pytest.raises(UsageError, match=r"runs already, with step_budget='lens'.*close_engines\('tiny'\)"):
        engines.find("tiny", settings, step_budget="slack")
    engines.close("tiny")
    assert engines.find("tiny", settings, step_budget="slack")


def test_models_that_run_elsewhere_and_engine_objects_have_their_own() -> None:
    with pytest.raises(UsageError, match=r"step_budget='lens' is for models that relserve runs .* is none"):
        api.connect(model="scripted", step_budget="lens")
    with pytest.raises(UsageError, match="give engine= or step_budget=, not both"):
        api.connect(engine=ScriptedEngine(), step_budget="lens")


def test_a_caching_policy_has_a_budget_of_its_own() -> None:
    assert read({"relserve": {"cache": "kv", "caching": "steady-kv"}}).step_budget == "off"
    with pytest.raises(UsageError, match="decides itself how many tokens a step computes"):
        read({"relserve": {"caching": "steady-kv", "step_budget": "lens"}})
