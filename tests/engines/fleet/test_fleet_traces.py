"""Spans of instalments: which member was asked, and which one died."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asking import ask, texts
from scripted_fleet import Machine, fleet_of

import relserve
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from tests.traces import kept_spans

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
    assert all(each.attributes["relserve.reason"].startswith("ours") for each in found)
    assert all(each.attributes["relserve.rows"] >= 1 for each in found)
    died = [each for each in found if each.attributes["relserve.member_died"]]
    assert {each.attributes["relserve.member"] for each in died} == {"a"}
    assert {each.attributes["error.type"] for each in died} == {"EngineDeadError"}
    assert all(each.attributes["relserve.unanswered_rows"] == 0 for each in found if each not in died)
    spans_sent = {each.trace["traceparent"].split("-")[2] for each in a.submissions + b.submissions}
    assert spans_sent <= {f"{each.context.span_id:016x}" for each in found}
