"""Traces cost nothing where nobody asked for them; the setting and what it needs, in other processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from relserve.errors import Cancelled, EngineError, UsageError
from relserve.machine import traces
from relserve.settings import load
from tests.traces import Receiver, kept_spans

ASK = """
import sys
import relserve
from relserve.engines.scripted import ScriptedEngine

engine = ScriptedEngine()
con = relserve.connect(engine=engine, progress=False)
con.execute("SELECT llm('{}', 'a')").fetchall()
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def test_nothing_is_imported_where_nobody_traces() -> None:
    done = run(f"{ASK}\nassert not [each for each in sys.modules if each.startswith('opentelemetry')]")
    assert done.returncode == 0, done.stderr


def test_a_provider_that_stands_for_none_is_none() -> None:
    done = run(f"import opentelemetry.trace\n{ASK}\nassert engine.submissions[0].trace is None")
    assert done.returncode == 0, done.stderr


def test_spans_go_where_the_setting_says() -> None:
    receiver = Receiver()
    done = run(ASK, RELSERVE_TRACES=receiver.endpoint.removesuffix("/v1/traces"))
    receiver.close()
    assert done.returncode == 0, done.stderr
    assert {(each.name, each.service) for each in receiver.seen} == {
        ("relserve.statement", "relserve"), ("relserve.relquery", "relserve"),
    }  # fmt: skip


@pytest.mark.long
def test_where_nobody_takes_them_the_program_goes_on_and_ends() -> None:
    began_s = time.monotonic()
    done = run(f"{ASK}\nprint('done')", RELSERVE_TRACES="http://127.0.0.1:9/v1/traces")
    assert done.stdout == "done\n", done.stderr
    assert time.monotonic() - began_s < 60


def test_without_opentelemetry_the_setting_is_an_error_that_says_how_to_mend_it() -> None:
    pytest.importorskip("opentelemetry")
    done = run(f"import sys\nsys.modules['opentelemetry'] = None\n{ASK}", RELSERVE_TRACES="http://127.0.0.1:9")
    assert "pip install 'relserve[traces]', or unset RELSERVE_TRACES" in done.stderr
    assert "UsageError" in done.stderr


def test_the_setting_is_a_url() -> None:
    assert load({"RELSERVE_TRACES": "http://h:4318"}).traces == "http://h:4318/v1/traces"
    assert load({"RELSERVE_TRACES": "https://h/path/"}).traces == "https://h/path/"
    assert load({}).traces == ""
    for wrong in ("localhost:4318", "grpc://h:4317", "http://"):
        with pytest.raises(UsageError, match=r"RELSERVE_TRACES=.* cannot be read"):
            load({"RELSERVE_TRACES": wrong})


@pytest.mark.performance
def test_a_span_that_nobody_sees_costs_little(
    monkeypatch: pytest.MonkeyPatch, limit_s: Callable[..., float]
) -> None:
    monkeypatch.delenv("RELSERVE_TRACES", raising=False)
    began_s = time.perf_counter()
    for _ in range(10_000):
        with traces.span("relserve.relquery"):
            traces.carried()
    assert time.perf_counter() - began_s < limit_s(0.2)


LAST = """
import os, sys, time
from relserve.machine import traces

with traces.span("relserve.last"):
    pass
began_s = time.monotonic()
traces.flush({limit_s})
print(time.monotonic() - began_s)
sys.stdout.flush()
os._exit(0)
"""


def test_a_process_that_ends_at_once_sends_its_last_spans_before() -> None:
    receiver = Receiver()
    done = run(LAST.format(limit_s=30), RELSERVE_TRACES=receiver.endpoint)
    receiver.close()
    assert done.returncode == 0, done.stderr
    assert [each.name for each in receiver.seen] == ["relserve.last"]


@pytest.mark.performance
def test_who_takes_no_spans_holds_no_process_up_that_ends(limit_s: Callable[..., float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as says_nothing:
        port = says_nothing.getsockname()[1]
        done = run(LAST.format(limit_s=1), RELSERVE_TRACES=f"http://127.0.0.1:{port}/v1/traces")
    assert 0.9 < float(done.stdout) < limit_s(3.0), done.stderr


def test_a_process_without_traces_has_nothing_to_send() -> None:
    done = run(LAST.format(limit_s=1))
    assert done.returncode == 0, done.stderr


def test_what_was_cancelled_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with kept_spans(monkeypatch) as exporter:
        for error in (Cancelled, EngineError):
            with pytest.raises(error), traces.span(error.__name__):
                raise error("of something")
        told = {each.name: each.attributes.get("error.type") for each in exporter.get_finished_spans()}
    assert told == {"Cancelled": None, "EngineError": "EngineError"}
