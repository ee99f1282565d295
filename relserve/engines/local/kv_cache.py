"""What rows keep in an engine that came up, against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relserve.vllm_plugin.settings import KEY


def refusal(engine_args: Mapping[str, Any], config: Any) -> str | None:
    """Why an engine keeps keys and values although something else was asked for; None where it does not.

    Args:
        engine_args: vLLM's arguments, as they were asked for.
        config: vLLM's configuration of the engine that came of them.
    """
    wanted = _cache(engine_args.get("additional_config"))
    if wanted == "kv" or _cache(config.additional_config) != "kv":
        return None
    from relserve.vllm_plugin.cache.what_forbids import what_forbids_hidden  # needs vLLM

    reasons = "; ".join(what_forbids_hidden(config))
    return f"its rows keep keys and values, not {wanted!r}, because of {reasons}"


def _cache(additional_config: Any) -> str:
    given = additional_config.get(KEY) if isinstance(additional_config, Mapping) else None
    return str(given.get("cache", "kv")) if isinstance(given, Mapping) else "kv"
