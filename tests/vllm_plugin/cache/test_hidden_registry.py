"""What vLLM knows of kinds of KV caches once ours is among them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.modules import needs

pytestmark = needs("vllm")

FIRST = """
from relserve.vllm_plugin.cache.spec import HybridSpec
import torch
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.kv_cache_spec_registry import KVCacheSpecRegistry
sizes = dict(block_size=32, num_kv_heads=4, head_size=64, dtype=torch.float32)
for spec in (FullAttentionSpec(**sizes), HybridSpec(x_width=256, **sizes)):
    print(KVCacheSpecRegistry.get_manager_class(spec).__name__)
"""


@pytest.mark.long
def test_vllms_own_kinds_are_known_where_ours_was_first() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["FullAttentionManager", "HybridManager"]
