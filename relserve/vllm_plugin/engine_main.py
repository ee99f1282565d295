"""What an engine process, and each worker process of it, runs in place of the user's script."""

from relserve.vllm_plugin.child_process import own_resource_tracker, set_up
from relserve.vllm_plugin.torch_extras import hide_misfits

if set_up():
    own_resource_tracker()
hide_misfits()
