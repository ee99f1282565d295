"""What vLLM's arguments, as users give them, say of what relserve's own settings say, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relserve.engines.local.kv_cache import told_cache, told_setting
from relserve.errors import UsageError
from relserve.settings import KV_CACHES, STEP_BUDGET, Settings
from relserve.vllm_plugin.key import KEY


def engine_args_of(settings: Settings) -> Mapping[str, Any]:
    """vLLM's arguments for a local model: the user's, with what rows keep, and with who bounds steps.

    Raises:
        UsageError: they cannot be read, or say something else of that.
    """
    told_cache(settings.engine_args)
    ours = {}
    if settings.kv_cache != KV_CACHES[0]:
        see_that_none_differs(settings)
        ours["cache"] = settings.kv_cache
    if settings.step_budget != STEP_BUDGET:
        see_that_no_budget_differs(settings)
        ours["step_budget"] = settings.step_budget
    if not ours:
        return settings.vllm_args
    given = settings.engine_args.get("additional_config") or {}
    return {**settings.vllm_args, "additional_config": {**given, KEY: {**(given.get(KEY) or {}), **ours}}}


def see_that_none_differs(settings: Settings) -> None:
    """Refuse settings of which vLLM's arguments say another kind of cache; raises UsageError."""
    told = told_cache(settings.engine_args)
    if told not in (None, settings.kv_cache):
        raise UsageError(
            f"kv_cache is {settings.kv_cache!r}, but vLLM's arguments (RELSERVE_ENGINE_ARGS) say "
            f"additional_config[{KEY!r}]['cache'] = {told!r}; leave one of them out"
        )


def told_budget(settings: Settings) -> str | None:
    """The step budget that vLLM's arguments name, by its name of now; None where they name none."""
    told = told_setting(settings.engine_args, "step_budget")
    if told is None:
        return None
    from relserve.policies.budget.variants import FORMER

    return FORMER.get(told, told)


def see_that_no_budget_differs(settings: Settings) -> None:
    """Refuse settings of which vLLM's arguments name another step budget; raises UsageError."""
    told = told_budget(settings)
    if told not in (None, settings.step_budget):
        raise UsageError(
            f"step_budget is {settings.step_budget!r}, but vLLM's arguments (RELSERVE_ENGINE_ARGS) say "
            f"additional_config[{KEY!r}]['step_budget'] = {told!r}; leave one of them out"
        )
