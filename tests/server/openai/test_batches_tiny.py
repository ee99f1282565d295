"""Batches on the embedded model: a direct statement's answers, and a chat that does not wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import relserve
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.server.openai.upstream import EngineUpstream
from tests.server.openai.chatting import HI
from tests.server.openai.gateways import Running, running
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of vLLM's own server, in another thread
    pytest.mark.filterwarnings("ignore::relserve.errors.RowsFailedWarning"),
]
SQL = """
SELECT i, llm_classify('Mood of this review: the soup number {i} was cold', i, choices := ['good', 'bad'])
FROM range(120) t(i) ORDER BY i
"""


@pytest.fixture
def gateway(local_engine: LocalEngine, tmp_path: Path) -> Iterator[Running]:
    folder = tmp_path / "batches"
    with running(lambda: EngineUpstream(local_engine, "tiny", {}), batches=folder) as one:
        spawn(local_engine.start()).result(2 * PATIENCE_S)
        yield one


def test_a_batch_has_the_direct_answers_and_a_chat_does_not_wait_for_it(gateway, tmp_path, monkeypatch):
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "batched"))
    client = gateway.client()
    with relserve.connect(model=f"batch:{gateway.url}", progress=False) as con:
        con.execute(SQL)
        client.chat.completions.create(model="tiny", messages=HI, max_tokens=2)
        (batch,) = client.batches.list()
        assert batch.request_counts.completed < 119
        wait_until(lambda: client.batches.retrieve(batch.id).status == "completed", 2 * PATIENCE_S)
        rows = con.execute(SQL).fetchall()
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "direct"))
    with relserve.connect(model=gateway.url, progress=False) as con:
        assert con.execute(SQL).fetchall() == rows
    relserve.close_engines(f"batch:{gateway.url}")
