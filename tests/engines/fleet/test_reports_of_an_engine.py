"""A real engine that reports to a real channel: what it says agrees with what it was asked."""

from __future__ import annotations

import statistics
import time

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
    heard: list[tuple[float, Report]] = []
    channel = StateChannel(lambda _, report: heard.append((time.monotonic(), report)))
    spawn(channel.open()).result(PATIENCE_S)
    monkeypatch.setenv(VARIABLE, channel.expect("a").text)
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"dtype": "float32", "max_num_seqs": 64})
    open_rows: list[tuple[float, int]] = []  # when so many were left to be answered

    async def ask(dispatch: int) -> None:
        prompts = [f"Say something about beer number {number}" for number in range(NUM_ROWS)]
        left = NUM_ROWS
        open_rows.append((time.monotonic(), left))
        async for replies in engine.answer(
            Submission(f"r{dispatch}", prompts, Sampling(max_tokens=8), dispatch=dispatch)
        ):
            left -= len(replies)
            open_rows.append((time.monotonic(), left))

    try:
        spawn(engine.start()).result(4 * PATIENCE_S)
        wait_until(lambda: heard)
        heard.clear()
        spawn(ask(5)).result(PATIENCE_S)
        wait_until(lambda: heard[-1][1].yours == 0)
        reports = [report for _, report in heard]
        before = [report for report in reports if report.seen == -1]  # beats of an idle engine
        assert not any(report.yours or report.num_running or report.num_waiting for report in before)
        heard, reports = heard[len(before) :], reports[len(before) :]
        assert {report.seen for report in reports} == {5}
        assert max(report.num_running for report in reports) == 64
        assert reports[0].num_waiting + reports[0].num_running > 0
        for at_s, report in heard:
            has = [left for when_s, left in open_rows if when_s <= at_s + 1e-3][-1]
            # Those that were answered and are on their way here count here, and there no more.
            assert report.num_running + report.num_waiting == report.yours <= NUM_ROWS
            assert report.yours <= has
            assert (report.prompt_tokens > 0) >= (report.num_waiting > 0)
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
