"""What an engine process, and each worker process of it, runs in place of the user's script."""

import gc

from relserve.vllm_plugin.child_process import own_resource_tracker, set_up
from relserve.vllm_plugin.collector import resting
from relserve.vllm_plugin.engines import import_engine
from relserve.vllm_plugin.torch_extras import hide_misfits

if set_up():
    own_resource_tracker()
with resting():
    hide_misfits()
    import_engine()
    gc.freeze()  # else the first collection afterwards makes up for all
