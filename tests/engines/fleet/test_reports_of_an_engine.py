"""A real engine that reports to a real channel: what it says agrees with what it was asked."""

from __future__ import annotations

import statistics

import pytest

from relserve.call.relquery import Sampling, Submission
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.machine.state_message import VARIABLE
from relserve.policies.dispatch.state import Report
from relserve.tiny import MODEL_DIR
from tests.waiting import PATIENCE_S, Limit, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]
NUM_ROWS = 600


@pytest.mark.performance
def test_a_real_engine_reports_what_it_has_to_do(monkeypatch: pytest.MonkeyPatch, limit_s: Limit) -> None:
    reports: list[Report] = []
    channel = StateChannel(lambda _, report: reports.append(report))
    spawn(channel.open()).result(PATIENCE_S)
    monkeypatch.setenv(VARIABLE, channel.expect("a").text)
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"dtype": "float32", "max_num_seqs": 64})
    answered = 0

    async def ask(dispatch: int) -> None:
        prompts = [f"Say something about beer number {number}" for number in range(NUM_ROWS)]
        nonlocal answered
        async for replies in engine.answer(
            Submission(f"r{dispatch}", prompts, Sampling(max_tokens=8), dispatch=dispatch)
        ):
            answered += len(replies)

    try:
        spawn(engine.start()).result(4 * PATIENCE_S)
        wait_until(lambda: reports)
        reports.clear()
        spawn(ask(5)).result(PATIENCE_S)
        assert answered == NUM_ROWS
        wait_until(lambda: reports[-1].yours == 0)
        before = [report for report in reports if report.seen == -1]  # beats of an idle engine
        assert not any(report.yours or report.num_running or report.num_waiting for report in before)
        reports = reports[len(before) :]
        assert {report.seen for report in reports} == {5}
        assert max(report.num_running for report in reports) == 64
        assert reports[0].num_waiting + reports[0].num_running > 0
        for report in reports:
            assert report.num_running + report.num_waiting == report.yours <= NUM_ROWS
            assert (report.prompt_tokens > 0) >= (report.num_waiting > 0)
        # Reports and answers come by two ways, in no order that could be told; each alone only falls.
        left = [report.yours for report in reports]
        falling = left[left.index(max(left)) :]
        assert falling == sorted(falling, reverse=True)
        assert len(set(falling)) > 2
        assert max(report.prompt_tokens for report in reports) > 64 * 5
        assert all(report.output_tokens > 0 for report in reports if report.yours)
        assert any(report.cost is not None for report in reports)
        assert 0 < statistics.median(report.step_s for report in reports if report.yours) < limit_s(1)
        assert not channel.dropped
    finally:
        spawn(engine.close()).result(PATIENCE_S)
        spawn(closed(channel)).result(PATIENCE_S)


async def closed(channel: StateChannel) -> None:
    """A channel is closed on its own loop."""
    channel.close()
