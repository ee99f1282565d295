"""The documentation of the page and the dashboard name the numbers that there are."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from relserve.call.relquery import Usage
from relserve.machine.gate_status import GateStatus, UserStatus
from relserve.server.page.facts import ConnectedClient
from relserve.session.history import QueryRecord
from tests.server.page.page_facts import BUDGET, FLEET, WrittenFacts, engine, get, served

DOCS = Path(__file__).parents[3] / "docs"


def metrics() -> dict[str, set[str]]:
    """The labels of each sample's name."""
    record = QueryRecord("r", "llm", "{}", "m", 9, num_rows_done=4, usage=Usage(50, 20, 5))
    client = ConnectedClient(1, "ann", "", "127.0.0.1", "idle", datetime.now(timezone.utc), None)
    engines = [engine(budget=BUDGET)]
    users = [UserStatus("ann", 1, 2, 7, 1, 0.5)]
    known = dict(policy="ours", users=users, places=3, reason="full", speed=9.0, error=0.1)
    gates = [GateStatus.here(model="m", **known)]
    facts = WrittenFacts(
        clients_now=[client],
        queries_now=[("ann", record)],
        engines_now=engines,
        gates_now=gates,
        fleets_now=[FLEET],
    )
    facts.counters.statement_ended(0.1, sqlstate="57014")
    facts.counters.requests.begun("ann")
    facts.counters.requests.spent("ann", 9, 3)
    facts.counters.requests.ended("ann", 200, 0.5)
    with served(facts) as address:
        families = text_string_to_metric_families(get(f"{address}/metrics")[2])
        return {sample.name: set(sample.labels) for family in families for sample in family.samples}


def test_the_page_lists_every_metric() -> None:
    page = (DOCS / "server_page.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(relserve_\w+)`", page))
    found = {re.sub(r"_(bucket|count|sum)$", "", name) for name in metrics() if name.startswith("relserve_")}
    assert told == found


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DOCS / "grafana" / "relserve.json").read_text(encoding="utf-8"))
    there = metrics()
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(texts) > 15
    for text in texts:
        names = re.findall(r"(\w+)\{", text)
        assert names
        for name in names:
            assert name in there, text
            by = {label for found in re.findall(r"by \((.*?)\)", text) for label in found.split(", ")}
            assert by <= there[name], text
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
