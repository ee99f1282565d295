"""vLLM's spans of requests, of a real engine, below those of the statement that asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.traces import Receiver

SCRIPT = """
import relserve

con = relserve.connect(model="tiny", progress=False)
words = "(VALUES ('a'), ('b'), ('c')) t(x)"
rows = con.execute(f"SELECT llm('Say a word about {{}}', x, max_tokens := 4) FROM {words}").fetchall()
assert all(answer for answer, in rows)
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
@pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")
def test_requests_are_spans_below_their_statement(receiver: Receiver, tmp_path: Path) -> None:
    told = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.endpoint, "RELSERVE_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, **told}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=240
    )
    assert run.returncode == 0, run.stderr
    (statement,) = [each for each in receiver.seen if each.name == "relserve.statement"]
    (relquery,) = [each for each in receiver.seen if each.name == "relserve.relquery"]
    requests = [each for each in receiver.seen if each.name == "llm_request"]
    assert statement.service == relquery.service == "relserve"
    assert (statement.parent, relquery.parent) == ("", statement.id)
    assert [(each.trace, each.parent) for each in requests] == [(statement.trace, relquery.id)] * 3
    assert all(each.attributes["gen_ai.latency.time_to_first_token"] > 0 for each in requests)
    assert all(each.attributes["gen_ai.usage.completion_tokens"] <= 4 for each in requests)
    assert "Overriding" not in run.stderr
