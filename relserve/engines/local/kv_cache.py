"""What rows keep in an engine that came up, against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relserve.errors import UsageError
from relserve.vllm_plugin.key import KEY


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


def told_setting(engine_args: Mapping[str, Any], setting: str) -> str | None:
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
