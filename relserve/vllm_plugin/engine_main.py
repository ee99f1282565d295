"""What an engine process runs in place of the user's script, before anything else."""

from relserve.vllm_plugin.child_process import behave, own_resource_tracker

if behave():
    own_resource_tracker()
