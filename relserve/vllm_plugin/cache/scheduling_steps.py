"""Steering vLLM's scheduler by a caching policy: its plan says which requests run, and as what they are kept.

As in `relserve.vllm_plugin.steering`, nothing of vLLM's `schedule()` is copied: before it is called, requests
that the plan drops lose their memory, those that it lets pause are hidden, and the waiting queue shows those
that it admits; afterwards everything is put back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from relserve.policies.caching.state import CachePlan
from relserve.policies.caching.variants import make
from relserve.policies.cost import OnlineCost
from relserve.policies.scheduling.state import Limits
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache.scheduling_queue import PlannedQueue
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.cache.scheduling_view import RequestTable
from relserve.vllm_plugin.host import Host, Request, StepOutput
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.settings import SchedulerSettings
