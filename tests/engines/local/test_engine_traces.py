"""vLLM's spans of requests, of a real engine, below those of the statement that asked."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import NamedTuple

import pytest

from tests.traces import Receiver, Seen
from tests.vllm_plugin.test_torch_extras import misfit

SCRIPT = """
import transformers  # which looks once what is installed
import relserve

con = relserve.connect(model="tiny", progress=False)
words = "(VALUES ('a'), ('b'), ('c')) t(x)"
rows = con.execute(f"SELECT llm('Say a word about {{}}', x, max_tokens := 4) FROM {words}").fetchall()
assert all(answer for answer, in rows)
"""


pytestmark = [
    pytest.mark.engine_of_its_own, pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]  # fmt: skip


class Program(NamedTuple):
    """The program, which has ended, and the spans that came of it."""

    status: int
    stderr: str
    spans: list[Seen]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """One that is traced, beside a torchvision that does not fit: a cold start takes 20 s of a core."""
    receiver, folder = Receiver(), tmp_path_factory.mktemp("traced")
    told = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.endpoint, "RELSERVE_CACHE_DIR": str(folder)}
    environment = {**misfit(tmp_path_factory.mktemp("packages")), **told}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=240
    )
    receiver.close()
    return Program(run.returncode, run.stderr, receiver.seen)


def test_an_engine_starts_beside_a_torchvision_of_another_build(program: Program) -> None:
    assert program.status == 0, program.stderr


def test_requests_are_spans_below_their_statement(program: Program) -> None:
    (statement,) = [each for each in program.spans if each.name == "relserve.statement"]
    (relquery,) = [each for each in program.spans if each.name == "relserve.relquery"]
    requests = [each for each in program.spans if each.name == "llm_request"]
    assert statement.service == relquery.service == "relserve"
    assert (statement.parent, relquery.parent) == ("", statement.id)
    assert [(each.trace, each.parent) for each in requests] == [(statement.trace, relquery.id)] * 3
    assert all(each.attributes["gen_ai.latency.time_to_first_token"] > 0 for each in requests)
    assert all(each.attributes["gen_ai.usage.completion_tokens"] <= 4 for each in requests)
    assert "Overriding" not in program.stderr
