"""benchmarks.bi_clients: its verdicts, the differences that it allows, and its statements."""

from __future__ import annotations

import re

import pytest

from benchmarks.provenance import ROOT
from tests.clients.bi.answers.compare import Verdict, compare
from tests.clients.bi.answers.differences import DIFFERENCES
from tests.clients.bi.programs.statements import CALLS, EXPLAINED, PREPARED
from tests.clients.bi.sides.runs import Answer

SHELL = {"status": 0, "out": ["1"], "err": []}
VERDICTS = [
    (Answer([[1]]), Answer([[1]]), Verdict.PASSED),
    (Answer([[1]]), Answer([[2]]), Verdict.WRONG),
    (Answer([]), Answer([[2]]), Verdict.WRONG),
    (Answer(error="a", sqlstate="42P01"), Answer(error="b", sqlstate="42P01"), Verdict.PASSED),
    (Answer(error="a", sqlstate="42601"), Answer(error="b", sqlstate="42P01"), Verdict.FAILED),
    (Answer(error="a", sqlstate="42601"), Answer([[1]]), Verdict.FAILED),
    (Answer([[1]]), Answer(error="b", sqlstate="42P01"), Verdict.FAILED),
    (Answer(hung=True), Answer([[1]]), Verdict.HUNG),
    (Answer([[1]]), Answer(hung=True), Verdict.BROKEN),
    (Answer([[1]]), Answer(error="no server said this"), Verdict.BROKEN),
    (None, Answer([[1]]), Verdict.FAILED),
    (Answer({**SHELL, "err": ["ERROR:  42601"]}), Answer(SHELL), Verdict.FAILED),
    (Answer({**SHELL, "out": []}), Answer(SHELL), Verdict.WRONG),
]


@pytest.mark.parametrize(("ours", "theirs", "verdict"), VERDICTS)
def test_verdicts(ours: Answer | None, theirs: Answer, verdict: Verdict) -> None:
    assert compare("a client", "a check", ours, theirs).verdict == verdict


def test_a_declared_difference_explains_nothing_else() -> None:
    def verdict(owner: str, table: str) -> Verdict:
        told = Answer({**SHELL, "out": [f"main|{table}|table|{owner}"]})
        return compare("psql", "dt", told, Answer({**SHELL, "out": ["main|orders|table|bob"]})).verdict

    assert verdict("duckdb", "orders") == Verdict.DECLARED
    assert verdict("duckdb", "order") == Verdict.WRONG
    assert verdict("ann", "orders") == Verdict.WRONG


def test_the_page_names_every_difference() -> None:
    page = (ROOT / "docs" / "bi.md").read_text(encoding="utf-8")
    table = page[page.index("## What differs from PostgreSQL") :]
    told = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in row.split(", ")}
    assert {difference.name for difference in DIFFERENCES} <= told


def test_statements_are_read_with_their_values() -> None:
    assert len(CALLS) == 15
    assert [each.name for each in EXPLAINED] == ["llm", "filter", "agg", "nested"]
    found = {each.name: each.values for each in PREPARED}
    assert found["parameter_template"] == ("Is {} short?", 12)
