"""What runs inside vLLM's process: the relQuery scheduler, and the set-up of relserve's engine process."""

from __future__ import annotations


def register() -> None:
    """Entry point `vllm.general_plugins`: called in every vLLM process.

    It acts in relserve's engine, and where an engine asks for the hidden cache.
    """
    from relserve.vllm_plugin.cache.engine_config import install
    from relserve.vllm_plugin.child_process import set_up

    set_up()
    install()
