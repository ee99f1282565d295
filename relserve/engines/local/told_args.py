"""What vLLM's arguments, as users give them, say of what relserve's own settings say, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relserve.engines.local.kv_cache import told_setting
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
    told = told_setting(settings.engine_args, _OURS[name])
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
