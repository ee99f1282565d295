"""A script from stdin, with an engine of its own, that is traced, beside a torchvision of another build.

It leaves in mid-query. All in one process, for a cold start takes 20 s of a core.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.traces import Receiver, Seen
from tests.vllm_plugin.test_torch_extras import misfit
from tests.waiting import Limit, is_gone, wait_until

SCRIPT = """
import sys, time
from pathlib import Path
import transformers  # which looks once what is installed
sys.path.insert(0, {tests!r})
import relserve
from asking import collect, submission_of
from relserve.engines.loop import spawn

print("script runs", flush=True)
con = relserve.connect(model="tiny", progress=False)
words = "(VALUES ('a'), ('b'), ('c')) t(x)"
rows = con.execute(f"SELECT llm('Say a word about {{{{}}}}', x, max_tokens := 4) FROM {{words}}").fetchall()
assert all(answer for answer, in rows)
engine = con.session.find_engine(None)
print("pid", engine.pid, flush=True)
while not Path({seen!r}).exists():  # its spans have arrived
    time.sleep(0.01)
spawn(collect(engine, submission_of([f"{{i}}: say why." for i in range(2000)], max_tokens=1000)))
while engine.num_unfinished < 100:
    time.sleep(0.01)
print("leaving", time.time(), flush=True)
"""


pytestmark = [
    pytest.mark.engine_of_its_own, pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]  # fmt: skip


LONGEST_S = 400.0


class Program(NamedTuple):
    """The program, which has ended, when that was, and the spans that came of it."""

    done: subprocess.CompletedProcess[str]
    ended_s: float
    spans: list[Seen]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    receiver, folder = Receiver(), tmp_path_factory.mktemp("traced")
    told = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.endpoint, "RELSERVE_CACHE_DIR": str(folder),
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }  # fmt: skip
    environment = {**misfit(tmp_path_factory.mktemp("packages")), **told}
    text = SCRIPT.format(tests=str(Path(__file__).parents[1]), seen=str(folder / "seen"))

    arrived: list[Seen] = []  # before it asks what it does not wait for

    def tell() -> None:
        names = {"relserve.statement": 1, "relserve.relquery": 1, "llm_request": 3}
        wait_until(lambda: Counter(each.name for each in receiver.seen) >= Counter(names), LONGEST_S)
        arrived.extend(receiver.seen)
        (folder / "seen").touch()

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    done = subprocess.run(
        [sys.executable, "-"], input=text, env=environment, capture_output=True, text=True, timeout=LONGEST_S
    )
    ended_s = time.time()
    telling.join()
    receiver.close()
    return Program(done, ended_s, arrived)


@pytest.mark.performance
def test_it_may_leave_in_mid_query(program: Program, limit_s: Limit) -> None:
    """And the engine starts beside that torchvision."""
    assert program.done.returncode == 0, program.done.stderr
    told = program.done.stderr.splitlines()
    assert [line for line in told if "engine for tiny" not in line] == []  # that it starts, and is ready
    assert program.done.stdout.count("script runs") == 1
    said = re.search(r"pid (\d+)\nleaving (\S+)", program.done.stdout)
    assert said is not None
    wait_until(lambda: is_gone(int(said[1])), limit_s(1))
    assert program.ended_s - float(said[2]) < limit_s(10)  # 3 s; Python takes long to unload torch


def test_requests_are_spans_below_their_statement(program: Program) -> None:
    (statement,) = [each for each in program.spans if each.name == "relserve.statement"]
    (relquery,) = [each for each in program.spans if each.name == "relserve.relquery"]
    requests = [each for each in program.spans if each.name == "llm_request"]
    assert statement.service == relquery.service == "relserve"
    assert (statement.parent, relquery.parent) == ("", statement.id)
    assert [(each.trace, each.parent) for each in requests] == [(statement.trace, relquery.id)] * 3
    assert all(each.attributes["gen_ai.latency.time_to_first_token"] > 0 for each in requests)
    assert all(each.attributes["gen_ai.usage.completion_tokens"] <= 4 for each in requests)
