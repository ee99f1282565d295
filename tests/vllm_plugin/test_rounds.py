"""A relQuery asked in rounds, inside vLLM's real scheduler: it is one, and as large as announced."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from relserve.call.options import Options
from relserve.call.relquery import CallSite, RelQuery, Reply, Submission
from relserve.call.template import Template
from relserve.machine.engine_status import RelStatus
from relserve.session.aggregate import answer_groups
from relserve.session.session import Session
from relserve.tiny import MODEL_DIR
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm

NUM_TOKENS = 40  # of each prompt
NUM_ROUNDS, NUM_ROWS = 5, 20


class Stepped:
    """An engine that runs vLLM's scheduler step by step; replies are one letter.

    Attributes:
        seen: the relQueries in the engine after each step, as `relserve top` shows them.
        idle: the same after each round.
    """

    def __init__(self, variant: str) -> None:
        self.model = "stepped"
        self.scheduler = testing.scheduler_of(str(MODEL_DIR), variant, False, 400)
        self.seen: list[list[RelStatus]] = []
        self.idle: list[list[RelStatus]] = []
        self._numbers = itertools.count()
        self._schedule = self.scheduler.schedule
        self.scheduler.schedule = self._watched

    def _watched(self, *args: Any, **kwargs: Any) -> Any:
        output = self._schedule(*args, **kwargs)
        self.seen.append(self._snapshot())
        return output

    def _snapshot(self) -> list[RelStatus]:
        rels: list[RelStatus] = self.scheduler.publisher.snapshot(self.scheduler, time.monotonic()).rels
        return rels

    async def fingerprint(self) -> str | None:
        return None

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        tag = submission.tag().args()
        numbers = [next(self._numbers) for _ in submission.prompts]
        arrivals = [testing.MadeUpArrival(0, f"row-{n}", [n % 900] * NUM_TOKENS, 3, tag) for n in numbers]
        testing.run(self.scheduler, arrivals, False)
        self.idle.append(self._snapshot())
        yield [Reply(index, "x") for index in range(len(arrivals))]

    async def close(self) -> None:
        self.scheduler.shutdown()


SITE = CallSite("llm", Template.parse("say {}").bind(1), Options(max_tokens=3))


def rows(first: int, num_rows: int) -> list[tuple[str]]:
    return [(str(i),) for i in range(first, first + num_rows)]


@pytest.mark.parametrize("variant", ["static", "dpu+marginal"])
def test_rounds_are_one_relquery_of_the_announced_size(variant: str) -> None:
    engine, whole = Stepped(variant), NUM_ROUNDS * NUM_ROWS
    session = Session(lambda model: engine)
    with session.open(SITE) as opened:
        for first in range(0, whole, NUM_ROWS):
            opened.ask(rows(first, NUM_ROWS), announced=whole)
    shown = [rel for step in engine.seen for rel in step]
    assert {rel.rel_id for rel in shown} == {opened.record.rel_id}
    assert {rel.rows for rel in shown} == {whole}
    done = [rel.done for rel in shown]
    assert done == sorted(done)
    assert done[-1] >= whole - NUM_ROWS
    assert len(session.history.queries()) == 1
    assert engine.idle == [[]] * NUM_ROUNDS  # between rounds it does not seem stuck


def test_a_round_is_as_urgent_as_the_whole() -> None:
    whole = NUM_ROUNDS * NUM_ROWS
    in_rounds, at_once = Stepped("static"), Stepped("static")
    with Session(lambda model: in_rounds).open(SITE) as opened:
        for first in range(0, whole, NUM_ROWS):
            opened.ask(rows(first, NUM_ROWS), announced=whole)
    Session(lambda model: at_once).run(RelQuery(SITE.function, SITE.binding, rows(0, whole), SITE.options))
    priorities = [{rel.priority for step in each.seen for rel in step} for each in (in_rounds, at_once)]
    assert priorities == [{whole * (NUM_TOKENS + 3)}] * 2


def test_the_rounds_of_an_aggregate_are_one_relquery() -> None:
    engine = Stepped("dpu+marginal")
    session = Session(lambda model: engine)
    groups = [([f"value {i} of {g}" for i in range(9)],) for g in range(6)]
    relquery = RelQuery("llm_agg", Template.parse("Join: {}").bind(1), groups, Options(max_chars=60))
    with session.open(relquery.site) as opened:
        assert answer_groups(relquery, opened).values == ["x"] * 6
    (record,) = session.history.queries()
    assert len(engine.idle) > 1
    shown = [rel for step in engine.seen for rel in step]
    assert {rel.rel_id for rel in shown} == {record.rel_id}
    assert [rel.done for rel in shown] == sorted(rel.done for rel in shown)
