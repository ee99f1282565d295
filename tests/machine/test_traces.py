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


@pytest.mark.long
def test_nothing_is_imported_where_nobody_traces() -> None:
    done = run(f"{ASK}\nassert not [each for each in sys.modules if each.startswith('opentelemetry')]")
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_provider_that_stands_for_none_is_none() -> None:
    done = run(f"import opentelemetry.trace\n{ASK}\nassert engine.submissions[0].trace is None")
    assert done.returncode == 0, done.stderr


def test_spans_go_where_the_environment_says() -> None:
    receiver = Receiver()
    done = run(ASK, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint.removesuffix("/v1/traces"))
    receiver.close()
    assert done.returncode == 0, done.stderr
    assert {(each.name, each.service) for each in receiver.seen} == {
        ("relserve.statement", "relserve"), ("relserve.relquery", "relserve"),
    }  # fmt: skip


@pytest.mark.long
def test_where_nobody_takes_them_the_program_goes_on_and_ends() -> None:
    began_s = time.monotonic()
    done = run(f"{ASK}\nprint('done')", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9/v1/traces")
    assert done.stdout == "done\n", done.stderr
    assert time.monotonic() - began_s < 60


def test_without_opentelemetry_nothing_is_traced_and_one_line_says_how_to_mend_it() -> None:
    """These variables are often there for other programs' sake, so they are no error."""
    pytest.importorskip("opentelemetry")
    text = f"import sys\nsys.modules['opentelemetry'] = None\n{ASK}{ASK}\nprint('done')"
    done = run(text, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert done.stdout == "done\n", done.stderr
    assert done.stderr.count("pip install 'relserve[traces]', or set OTEL_TRACES_EXPORTER=none") == 1


URL = "http://h:4318"


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({}, ""),
        ({"ENDPOINT": f"{URL}/"}, f"{URL}/v1/traces"),
        ({"ENDPOINT": URL, "TRACES_ENDPOINT": "https://spans/path"}, "https://spans/path"),
        ({"ENDPOINT": "http://h:4317", "PROTOCOL": "grpc"}, "http://h:4317"),
        ({"ENDPOINT": URL, "PROTOCOL": "grpc", "TRACES_PROTOCOL": "http/protobuf"}, f"{URL}/v1/traces"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318/v1/traces"),
        ({"ENDPOINT": URL, "OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"ENDPOINT": URL, "OTEL_SDK_DISABLED": "true"}, ""),
    ],
)
def test_opentelemetrys_own_variables_say_where_spans_go(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], endpoint: str
) -> None:
    for name in [each for each in os.environ if each.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name if name.startswith("OTEL_") else f"OTEL_EXPORTER_OTLP_{name}", value)
    assert traces.endpoint() == endpoint


def test_the_setting_of_before_says_where_to_put_it() -> None:
    with pytest.raises(UsageError, match=r"RELSERVE_TRACES is no setting .* OTEL_EXPORTER_OTLP_ENDPOINT"):
        load({"RELSERVE_TRACES": URL})


@pytest.mark.performance
def test_a_span_that_nobody_sees_costs_little(
    monkeypatch: pytest.MonkeyPatch, limit_s: Callable[..., float]
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
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


@pytest.mark.long
def test_a_process_that_ends_at_once_sends_its_last_spans_before() -> None:
    receiver = Receiver()
    done = run(LAST.format(limit_s=30), OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=receiver.endpoint)
    receiver.close()
    assert done.returncode == 0, done.stderr
    assert [each.name for each in receiver.seen] == ["relserve.last"]


@pytest.mark.performance
def test_who_takes_no_spans_holds_no_process_up_that_ends(limit_s: Callable[..., float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as says_nothing:
        port = says_nothing.getsockname()[1]
        done = run(
            LAST.format(limit_s=1), OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{port}/v1/traces"
        )
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
