"""Stop strings on a real engine: what they leave of a reply, and how its row is counted."""

from __future__ import annotations

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of

from relserve.engines.loop import spawn
from relserve.machine.engine_status import RelStatus, read_engines, state_dir
from relserve.vllm_plugin.stop_strings import MARK, told_apart
from tests.waiting import wait_until

pytestmark = pytest.mark.vllm

MANY = [f"Was guest {i} happy with the soup? Say why." for i in range(1000)]


@pytest.fixture
def engine(local_engine):
    return local_engine


def test_stop_strings_end_a_reply(engine):
    free = ask(engine, MANY[:1], max_tokens=40)[0].text
    stop = free[len(free) // 2 :][:4]
    assert ask(engine, MANY[:1], max_tokens=40, stop=(stop,))[0].text == free[: free.index(stop)]


@pytest.mark.long
def test_rows_that_a_stop_string_ended_are_told_as_answered(engine):
    seen: list[RelStatus] = []

    def is_told() -> bool:
        rels = [
            rel for status in read_engines(state_dir()) if status.pid == engine.pid for rel in status.rels
        ]
        seen.extend(rel for rel in rels if rel.done + rel.failed > 100)
        return bool(seen)

    for seed in range(6):  # an engine that is quick may end a query between two of its reports
        submission = submission_of(MANY * 2**seed, max_tokens=400, temperature=1.0, seed=seed, stop=(" ",))
        asked = spawn(collect(engine, submission))
        wait_until(lambda asked=asked: is_told() or asked.done())
        replies = asked.result(timeout=TIMEOUT_S)
        assert not [reply.failure for reply in replies if reply.failure is not None]
        if seen:
            break
    assert seen
    assert {rel.failed for rel in seen} == {0}


def test_marked_ids_are_told_apart_from_those_of_rows_that_nobody_waits_for():
    assert told_apart(["a", "b", MARK + "b", MARK + "gone"]) == (["a", "b"], {"b", "gone"})
    assert told_apart([]) == ([], set())
