"""Turns the cache on where vLLM's configuration of an engine asks for it, and says why where it cannot.

What is decided is written into the configuration, which vLLM hands to every process of the engine: the
model's architecture becomes ours, and the scheduler one that knows both kinds of requests.
"""

from __future__ import annotations

import logging
import sys
from functools import wraps
from typing import Any

from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import vllm_parts
from relserve.vllm_plugin.cache.what_forbids import HYBRID_NAMES, what_forbids_hidden
from relserve.vllm_plugin.key import KEY
from relserve.vllm_plugin.settings import read

logger = logging.getLogger(__name__)

MODELS = "relserve.vllm_plugin.cache.models"
SCHEDULER = "relserve.vllm_plugin.cache.scheduling.make"
WATCHED = "_relserve_watches"  # on our wrapper, and on those that others put around it by `functools.wraps`


def install() -> None:
    """Look at each configuration that this process makes for an engine, and let models be found by name.

    vLLM has no hook for the first: its plug-ins are called before it reads its arguments. Where the cache is
    not asked for, a configuration stays as vLLM made it. Does nothing in a process without vLLM.
    """
    if "vllm" not in sys.modules or hasattr(vllm_parts.EngineArgs.create_engine_config, WATCHED):
        return
    names = (f"{MODELS}:HybridOPT", f"{MODELS}:HybridLlama")
    for name, place in zip(HYBRID_NAMES.values(), names, strict=True):
        vllm_parts.ModelRegistry.register_model(name, place)
    stock = vllm_parts.EngineArgs.create_engine_config

    @wraps(stock)
    def create_engine_config(self: Any, *args: Any, **kwargs: Any) -> Any:
        config = stock(self, *args, **kwargs)
        prepare(config)
        return config

    setattr(create_engine_config, WATCHED, True)
    vllm_parts.EngineArgs.create_engine_config = create_engine_config  # type: ignore[method-assign]


def prepare(config: Any) -> None:
    """Write into vLLM's configuration of an engine what its cache will be.

    Raises:
        UsageError: a setting of relserve's is not known.
    """
    wanted = read(config.additional_config).cache
    if wanted == "kv":
        return
    reasons = what_forbids_hidden(config)
    if reasons:
        logger.warning(
            "the cache holds keys and values only, not %r, because of %s", wanted, "; ".join(reasons)
        )
        ours = {**config.additional_config[KEY], "cache": "kv"}
        config.additional_config = {**config.additional_config, KEY: ours}
        return
    if not host.runs_on_cpu():
        logger.warning(
            "the cache holds hidden states on a GPU, where this was tried only through Triton's interpreter:"
            " compare answers with those of the cache 'kv'"
        )
    hf_config = config.model_config.hf_config
    hf_config.architectures = [HYBRID_NAMES[hf_config.architectures[0]]]
    if config.scheduler_config.scheduler_cls is None:
        config.scheduler_config.scheduler_cls = SCHEDULER
