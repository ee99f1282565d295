"""The benchmark of servers that misbehave: its kinds, and that it sees what is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.odd_servers.__main__ import KINDS, OddServerCase, cases_of, see
from benchmarks.odd_servers.kinds import OddRowOutcome, always
from benchmarks.odd_servers.server import RIGHT, completion, http


def test_there_are_sixty_kinds_and_ten_functions() -> None:
    names = Counter((kind.area, kind.name) for kind in KINDS)
    assert len(names) >= 60
    assert set(names.values()) == {1}
    assert {area for area, _ in names} == {
        "status", "headers", "bodies", "usage", "content", "streams", "delays",
    }  # fmt: skip
    assert len(RIGHT) == 10


def test_a_wrong_answer_is_seen_and_that_it_is_kept(tmp_path) -> None:
    seen = see(
        OddServerCase(always("content", "another", completion("other"), OddRowOutcome.NULL), "llm"), tmp_path
    )
    assert (seen.wrong, seen.kept_wrong, seen.crashed) == (["odd: 'other'"], ["odd"], "")


def test_null_in_place_of_an_answer_and_a_request_too_many_are_seen(tmp_path) -> None:
    seen = see(
        OddServerCase(always("bodies", "null", http(200, None), OddRowOutcome.RIGHT), "llm_int"), tmp_path
    )
    assert (seen.wrong, seen.kept_wrong, seen.crashed) == (["odd: None"], [], "")
    assert seen.num_requests == seen.least + 2


@pytest.mark.parametrize("status", [402, 401])
def test_a_statement_that_ends_where_it_should_not_is_a_crash(tmp_path, status) -> None:
    refusal = http(status, {"error": {"message": "no"}})

    seen = see(OddServerCase(always("status", "no", refusal, OddRowOutcome.NULL), "llm"), tmp_path)
    assert ("EngineDeadError" if status == 402 else "EngineStartError") in seen.crashed


@pytest.mark.cells(2)
@pytest.mark.parametrize("function", ["llm_prob", "llm_probs"])
@pytest.mark.parametrize("name", ["429 inside a 200 once", "text/plain", "413"])
def test_decision_servers_misbehave_too(tmp_path, function, name) -> None:
    (case,) = [case for case in cases_of([function]) if case.kind.name == name]
    seen = see(case, tmp_path)
    assert (seen.wrong, seen.kept_wrong, seen.crashed) == ([], [], "")
    assert seen.num_requests == seen.least
