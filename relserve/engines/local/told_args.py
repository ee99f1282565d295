"""What vLLM's arguments, as users give them, say of what relserve's own settings say, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relserve.errors import UsageError
from relserve.settings import KV_CACHES, STEP_BUDGET, Settings
from relserve.vllm_plugin.key import KEY

_OURS = {"kv_cache": "cache", "step_budget": "step_budget"}  # settings by their names in vLLM's arguments


def engine_args_of(settings: Settings) -> Mapping[str, Any]:
    """vLLM's arguments for a local model: the user's, with what rows keep, and with who bounds steps.

    Raises:
        UsageError: they cannot be read, or say something else of that.
    """
    told_of(settings, "kv_cache")
    ours = {}
    for name, default in (("kv_cache", KV_CACHES[0]), ("step_budget", STEP_BUDGET)):
        if (value := getattr(settings, name)) != default:
            see_that_none_differs(settings, name)
            ours[_OURS[name]] = value
    if not ours:
        return settings.vllm_args
    given = settings.engine_args.get("additional_config") or {}
    return {**settings.vllm_args, "additional_config": {**given, KEY: {**(given.get(KEY) or {}), **ours}}}


def told_of(settings: Settings, name: str) -> str | None:
    """What vLLM's arguments say of a setting, in words of now; None where they say nothing.

    Raises:
        UsageError: they cannot be read.
    """
    told = _told_setting(settings.engine_args, _OURS[name])
    if told is None or name != "step_budget":
        return told
    from relserve.policies.budget.variants import FORMER

    return FORMER.get(told, told)


def see_that_none_differs(settings: Settings, name: str) -> None:
    """Refuse settings of which vLLM's arguments say something else; raises UsageError."""
    told = told_of(settings, name)
    if told not in (None, getattr(settings, name)):
        raise UsageError(
            f"{name} is {getattr(settings, name)!r}, but vLLM's arguments (RELSERVE_ENGINE_ARGS) say "
            f"additional_config[{KEY!r}][{_OURS[name]!r}] = {told!r}; leave one of them out"
        )


def refusal(engine_args: Mapping[str, Any], config: Any) -> str | None:
    """Why an engine keeps keys and values although something else was asked for; None where it does not.

    Args:
        engine_args: vLLM's arguments, as they were asked for.
        config: vLLM's configuration of the engine that came of them.
    """
    wanted = cache_of(engine_args.get("additional_config"))
    if wanted == "kv" or cache_of(config.additional_config) != "kv":
        return None
    from relserve.vllm_plugin.cache.what_forbids import what_forbids_hidden  # needs vLLM

    reasons = "; ".join(what_forbids_hidden(config))
    return f"its rows keep keys and values, not {wanted!r}, because of {reasons}"


def _told_setting(engine_args: Mapping[str, Any], setting: str) -> str | None:
    """What vLLM's arguments say of a setting of our scheduler; None where they say nothing.

    Raises:
        UsageError: they cannot be read.
    """
    config = engine_args.get("additional_config")
    ours = config.get(KEY) if isinstance(config, Mapping) else None
    for name, given in (("additional_config", config), (f"additional_config[{KEY!r}]", ours)):
        if not isinstance(given, Mapping | None):
            raise UsageError(f"vLLM's argument {name} is a mapping of names to values, not {given!r}")
    return None if ours is None or setting not in ours else str(ours[setting])


def cache_of(additional_config: Any) -> str:
    """What rows keep under vLLM's configuration of an engine."""
    given = additional_config.get(KEY) if isinstance(additional_config, Mapping) else None
    return str(given.get("cache", "kv")) if isinstance(given, Mapping) else "kv"
