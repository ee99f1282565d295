"""A statistics logger for vLLM that logs nothing, because having one turns per-request times on."""

from __future__ import annotations

from typing import Any

from relserve.vllm_plugin.host import PrometheusStatLogger


class NoStats(PrometheusStatLogger):
    """Takes the place of vLLM's own Prometheus logger, which costs time on every step and nobody scrapes."""

    def __init__(self, vllm_config: Any, engine_indexes: Any = None) -> None:
        """Registers no metrics."""

    def record(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def log_engine_initialized(self) -> None:
        """Nothing."""

    def record_sleep_state(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def record_admission_rejection(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""
