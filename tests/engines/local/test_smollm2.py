"""The model of the extra relserve[smollm2] itself, converted and run, where its package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from asking import ask, texts

from relserve.engines.local.cpu import cpu_dtype
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.registry import path_of
from relserve.machine import packaged

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.engine_of_its_own,
    pytest.mark.skipif(packaged.find_source() is None, reason=f"not installed: {packaged.EXTRA}"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """The model as a call without settings has it, in a cache folder of its own."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELSERVE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
        made = LocalEngine("smollm2", path_of("smollm2"))
        spawn(made.start()).result()
        yield made
        spawn(made.close()).result()


def test_it_knows_its_template_and_where_to_end(engine: LocalEngine) -> None:
    (reply,) = ask(engine, ["Write one sentence about tea."], max_tokens=100)
    assert "tea" in str(reply.text).lower()
    assert not reply.cut  # it ended by itself


def test_its_engine_takes_no_more_than_2_gb(engine: LocalEngine) -> None:
    """With every row that it runs at once; 3 where the CPU has no bfloat16 and numbers are twice as long."""
    most = 3e9 if cpu_dtype(path_of("smollm2")) == "float32" else 2e9
    said = texts(ask(engine, [f"Write a sentence about the number {number}." for number in range(256)]))
    assert all(said)
    assert psutil.Process(engine.pid).memory_info().rss <= most
    assert not list(Path(path_of("smollm2")).parent.glob("*.tmp"))
