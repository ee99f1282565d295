"""Spans of instalments: which member was asked, and which one died."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts
from scripted_fleet import Machine, fleet_of

import relserve
from relserve.call.relquery import Reply
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from tests.traces import Receiver, forget_provider, kept_spans

PROMPTS = [f"How was dish {number}?" for number in range(60)]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with kept_spans(monkeypatch) as exporter:
        yield exporter


def test_instalments_are_spans_below_their_relquery_also_those_that_died(spans: Any) -> None:
    a, b = Machine(0.001), Machine(0.001)
    a.dies_of = lambda prompt: a.deaths == 0
    fleet = fleet_of(a=a, b=b)
    con = relserve.connect(engine=fleet, progress=False)
    sql = "SELECT llm('{}', x) FROM (SELECT unnest($1) AS x)"
    rows = con.execute(sql, [PROMPTS]).fetchall()
    assert [row[0] for row in rows] == texts(ask(ScriptedEngine(), PROMPTS))
    spawn(fleet.close()).result()
    (relquery,) = [each for each in spans.get_finished_spans() if each.name == "relserve.relquery"]
    found = [each for each in spans.get_finished_spans() if each.name == "relserve.instalment"]
    assert {each.parent.span_id for each in found} == {relquery.context.span_id}
    assert {each.attributes["relserve.member"] for each in found} == {"a", "b"}
    assert all(each.attributes["relserve.reason"].startswith("predicted") for each in found)
    assert all(each.attributes["relserve.rows"] >= 1 for each in found)
    died = [each for each in found if each.attributes["relserve.member_died"]]
    assert {each.attributes["relserve.member"] for each in died} == {"a"}
    assert {each.attributes["error.type"] for each in died} == {"EngineDeadError"}
    assert all(each.attributes["relserve.unanswered_rows"] > 0 for each in died)
    num_sent = sum(each.attributes["relserve.rows"] for each in found)
    num_unanswered = sum(each.attributes["relserve.unanswered_rows"] for each in found)
    assert num_sent - num_unanswered == len(PROMPTS)  # each row is answered by one of them
    spans_sent = {each.trace["traceparent"].split("-")[2] for each in a.submissions + b.submissions}
    assert spans_sent <= {f"{each.context.span_id:016x}" for each in found}


HEADERS = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}


def asked_with(trace: dict[str, str] | None) -> tuple[FleetEngine, Machine, list[Reply]]:
    """A fleet's answers to rows of a statement that somebody else traces."""
    machine = Machine()
    fleet = fleet_of(a=machine)
    asked = replace(submission_of(PROMPTS), trace=trace)
    return fleet, machine, spawn(collect(fleet, asked)).result(TIMEOUT_S)


@pytest.mark.parametrize("has_opentelemetry", [True, False])
def test_where_nobody_traces_members_are_told_of_who_asks(
    monkeypatch: pytest.MonkeyPatch, has_opentelemetry: bool
) -> None:
    forget_provider(monkeypatch)
    if not has_opentelemetry:
        forget_opentelemetry(monkeypatch)
    _, machine, replies = asked_with(HEADERS)
    assert len(replies) == len(PROMPTS)
    assert [each.trace for each in machine.submissions] == [HEADERS] * len(machine.submissions)
    assert asked_with(None)[1].submissions[0].trace is None


def forget_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as if OpenTelemetry were not installed."""
    for name in [each for each in sys.modules if each.split(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)


HOST = """
import asyncio, os
from relserve.engines.fleet.engine_host import EngineHost
from relserve.machine import traces

host = EngineHost("m", "no folder", {}, "", "", "")
with traces.span("relserve.last"):
    pass
asyncio.run(host.close())
os._exit(0)
"""


def test_a_member_in_ray_sends_its_last_spans_before_it_is_killed() -> None:
    receiver = Receiver()
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.endpoint}
    done = subprocess.run(
        [sys.executable, "-c", HOST], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    receiver.close()
    assert done.returncode == 0, done.stderr
    assert [each.name for each in receiver.seen] == ["relserve.last"]
