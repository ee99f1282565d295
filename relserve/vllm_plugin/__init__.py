"""What runs inside vLLM's process: the relQuery scheduler, and the set-up of relserve's engine process."""

from __future__ import annotations


def register() -> None:
    """Entry point `vllm.general_plugins`: called in every vLLM process, acts only in relserve's engine."""
    from relserve.vllm_plugin.child_process import set_up

    set_up()
