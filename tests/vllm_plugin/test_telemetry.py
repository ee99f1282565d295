"""What a scheduler tells its fleet's owner: vLLM's real one, with a made-up worker and a real socket."""

from __future__ import annotations

import socket
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relserve.engines.fleet.watch import SILENT_S
from relserve.errors import UsageError
from relserve.machine.state_message import VARIABLE, Target, decode
from relserve.policies.dispatch.member_table import TRUST_S
from relserve.policies.dispatch.state import Report
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.state_sender import ALIVE_S, EVERY_S, STUCK_S, StateSender
from relserve.vllm_plugin.step_work import work_of
from relserve.vllm_plugin.telemetry import LOOKS, Telemetry
from tests.modules import later
from tests.policies.budget.seen import seconds_of, works
from tests.waiting import Limit, wait_until

request = later("vllm.v1.request")
testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
MODEL, TOKEN = str(MODEL_DIR), "0123456789abcdef"


class Ear:
    """A socket that hears one member."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.0)
        self.target = Target(f"127.0.0.1:{self.socket.getsockname()[1]}", TOKEN, "a")
        self.heard: list[Report] = []

    def hear(self) -> list[Report]:
        """All reports so far."""
        while True:
            try:
                self.heard.append(decode(self.socket.recv(1000), {"a": TOKEN})[1])
            except BlockingIOError:
                return self.heard


@pytest.fixture
def ear(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    made = Ear()
    monkeypatch.setenv(VARIABLE, made.target.text)
    yield made
    made.socket.close()


def arrivals_of(
    num: int, num_prompt: int = 40, num_output: int = 5, **tag: Any
) -> list[testing.MadeUpArrival]:
    tag = {"rel_id": "r", "rel_rows": num, **tag}
    return [testing.MadeUpArrival(0, f"r-{i}", [i % 900] * num_prompt, num_output, tag) for i in range(num)]


def step(scheduler: Any, worker: testing.MadeUpWorker) -> None:
    output = scheduler.schedule()
    scheduler.update_from_output(output, worker.execute(output))


def report_of(scheduler: Any) -> Report:
    """What would be reported now."""
    found: Report = scheduler.telemetry.report(time.monotonic())
    return found


@pytest.mark.parametrize("variant", ["stock", "dpu+marginal"])
@pytest.mark.parametrize("budget", ["lens", "slack"])
def test_prism_is_told_what_the_model_of_the_step_budgets_says(ear: Ear, variant: str, budget: str) -> None:
    """L_e and P_max of Eq. 8; what was learnt beside it counts where nobody bounds steps, or before."""
    scheduler = testing.scheduler_of(MODEL, variant, False, 400, step_budget=budget)
    cost, model = scheduler.telemetry._cost.model, scheduler.budgets.policy.model
    first = report_of(scheduler)
    assert first.peak_tokens_per_s == pytest.approx(1.0 / cost.prefill_per_token_s)
    for work in works(64):
        model.add(work, 10.0 * seconds_of(work))
    for arrival in arrivals_of(4, rel_tpot_slo_s=5.0):
        scheduler.add_request(arrival.request())
    output, found = scheduler.schedule(), report_of(scheduler)
    work = np.array([work_of(output, scheduler.requests)], dtype=float)
    assert found.step_s == pytest.approx(float(model.predict(work)[0]))
    assert found.peak_tokens_per_s == model.peak_tokens_per_s != first.peak_tokens_per_s
    scheduler.finish_requests(None, request.RequestStatus.FINISHED_ABORTED)
    for arrival in arrivals_of(4, rel_id="free"):
        scheduler.add_request(arrival.request())
    scheduler.schedule()
    assert report_of(scheduler).step_s == cost.seconds(scheduler.clock.latest)
    assert report_of(scheduler).peak_tokens_per_s == model.peak_tokens_per_s
    scheduler.shutdown()


def test_an_engine_of_no_fleet_tells_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    assert scheduler.telemetry is None
    scheduler.shutdown()
    monkeypatch.setenv(VARIABLE, "nonsense")
    with pytest.raises(UsageError, match=VARIABLE):
        testing.scheduler_of(MODEL, "dpu+marginal", False, 400)


@pytest.mark.parametrize("variant", ["stock", "dpu+marginal"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_workload_runs_as_before_and_its_end_is_told(ear: Ear, variant: str, is_async: bool) -> None:
    arrivals = testing.workload(5)
    scheduler = testing.scheduler_of(MODEL, variant, is_async, 400)
    ran = testing.run(scheduler, arrivals, is_async, abort_every=40)
    assert {a.request_id for a in arrivals} - ran.aborted <= set(ran.tokens)
    assert all(ran.tokens[a.request_id] == a.expected() for a in arrivals if a.request_id not in ran.aborted)
    wait_until(lambda: ear.hear() and ear.heard[-1].sequence > 2 and not _work(ear.heard[-1]))
    numbers = [report.sequence for report in ear.heard]
    assert numbers == sorted(set(numbers))
    assert len({report.incarnation for report in ear.heard}) == 1
    assert ear.heard[-1].free_tokens == 399 * 32  # one of vLLM's blocks is its own
    scheduler.shutdown()


def _work(report: Report) -> float:
    return (
        report.prompt_tokens + report.num_running + report.num_waiting + report.output_tokens
        + report.step_s + report.yours
    )  # fmt: skip


@pytest.mark.parametrize("variant", ["stock", "dpu+marginal"])
def test_a_report_agrees_with_what_there_is_to_do(ear: Ear, variant: str) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, variant, False, 400), testing.MadeUpWorker()
    for arrival in arrivals_of(40):
        scheduler.add_request(arrival.request())
    for number in range(30):
        output = scheduler.schedule()
        found, rows = report_of(scheduler), list(scheduler.requests.values())
        waiting = [row for row in rows if row not in scheduler.running]
        assert (found.num_running, found.num_waiting) == (len(scheduler.running), len(waiting)), number
        of_step = output.total_num_scheduled_tokens - sum(
            [output.num_scheduled_tokens.get(row.request_id) == 1 for row in scheduler.running]
        )
        assert found.waiting_tokens == pytest.approx(sum([row.num_tokens for row in waiting]))
        left = sum([row.num_tokens - row.num_computed_tokens for row in scheduler.running])
        begun = left if any(row.is_prefill_chunk for row in scheduler.running) else 0
        assert found.prompt_tokens == pytest.approx(found.waiting_tokens + of_step + begun, abs=2)
        assert found.budget_tokens == testing.MAX_TOKENS_A_STEP
        assert found.step_s == pytest.approx(
            scheduler.telemetry._cost.model.step(of_step, len(output.num_scheduled_tokens)), rel=0.5
        )
        assert found.output_tokens >= len(rows) > 0
        assert found.free_tokens <= 400 * 32 - found.waiting_tokens
        assert found.peak_tokens_per_s > 0
        scheduler.update_from_output(output, worker.execute(output))
        if not scheduler.requests:
            break
    assert number > 5
    assert _work(report_of(scheduler)) == 0
    scheduler.shutdown()


def test_rows_that_are_announced_count_as_far_as_they_are_believed(ear: Ear) -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    for arrival in arrivals_of(10, rel_rows=30):
        scheduler.add_request(arrival.request())
    found = report_of(scheduler)
    assert (found.num_waiting, found.waiting_tokens) == (10, 30 * 40.0)
    scheduler.shutdown()


def test_of_many_relqueries_some_stand_for_all(ear: Ear) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, "stock", False, 4000), testing.MadeUpWorker()
    for i in range(1000):
        scheduler.add_request(testing.MadeUpArrival(0, f"q{i}-0", [i % 900] * (30 + i % 20), 3, {}).request())
    step(scheduler, worker)
    waiting = [row for row in scheduler.requests.values() if row not in scheduler.running]
    assert len(scheduler.ledger.active) > 10 * LOOKS
    assert report_of(scheduler).waiting_tokens == pytest.approx(
        sum([row.num_tokens for row in waiting]), rel=0.1
    )
    scheduler.shutdown()


def test_the_owner_learns_which_dispatch_has_come_and_what_is_its_own(ear: Ear) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, "dpu+marginal", False, 400), testing.MadeUpWorker()
    assert (report_of(scheduler).seen, report_of(scheduler).yours) == (-1, 0)
    scheduler.add_request(testing.MadeUpArrival(0, "s-0", [3] * 40, 4, {}).request())  # somebody else's
    for arrival in arrivals_of(3, rel_dispatch=41):
        scheduler.add_request(arrival.request())
    scheduler.add_request(
        testing.MadeUpArrival(0, "t-0", [4] * 40, 4, {"rel_dispatch": 7}).request()
    )  # overtaken
    found = report_of(scheduler)
    assert (found.seen, found.yours, found.num_waiting) == (41, 4, 5)
    scheduler.finish_requests(["r-0"], request.RequestStatus.FINISHED_ABORTED)
    assert report_of(scheduler).yours == 3
    for _ in range(10):
        step(scheduler, worker)
    found = report_of(scheduler)
    assert (found.seen, found.yours, found.num_running) == (41, 0, 0)
    scheduler.shutdown()


@pytest.mark.parametrize("number", [True, -1, 2.5, "x", None, 2**60, [3]])
def test_nonsense_for_a_dispatch_counts_as_none(ear: Ear, number: Any) -> None:
    scheduler = testing.scheduler_of(MODEL, "stock", False, 400)
    scheduler.add_request(testing.MadeUpArrival(0, "t-0", [4] * 40, 4, {"rel_dispatch": number}).request())
    assert (report_of(scheduler).seen, report_of(scheduler).yours) == (-1, 0)
    scheduler.shutdown()


def test_it_is_told_at_once_that_an_idle_engine_has_work(ear: Ear) -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    wait_until(lambda: len(ear.hear()) == 1)
    wait_until(lambda: scheduler.telemetry.sender.is_due(time.monotonic()))
    scheduler.add_request(testing.MadeUpArrival(0, "t-0", [4] * 40, 4, {}).request())
    wait_until(lambda: ear.hear()[-1].num_waiting == 1)  # no step was needed
    scheduler.shutdown()


def test_no_more_than_so_many_reports_a_second(ear: Ear) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, "dpu+marginal", False, 400), testing.MadeUpWorker()
    began_s, rounds = time.monotonic(), 0
    while time.monotonic() - began_s < 1.0:  # it gets busy and idle again and again
        scheduler.add_request(testing.MadeUpArrival(0, f"t{rounds}-0", [4] * 40, 1, {}).request())
        step(scheduler, worker)
        rounds += 1
    passed_s = time.monotonic() - began_s
    assert not scheduler.requests
    wait_until(lambda: not ear.hear()[-1].num_waiting + ear.heard[-1].num_running)  # the last word is right
    assert len(ear.heard) <= passed_s / EVERY_S + 3
    assert rounds > 100
    scheduler.shutdown()


@pytest.mark.parametrize("is_idle", [False, True])
def test_an_engine_says_now_and_then_that_it_is_there(ear: Ear, is_idle: bool) -> None:
    sender = StateSender(ear.target, every_s=0.001, alive_s=0.01)
    sender.put(Report(num_running=int(not is_idle)), is_idle, time.monotonic())
    wait_until(lambda: len(ear.hear()) > 5)
    assert {report.num_running for report in ear.heard} == {int(not is_idle)}
    assert [report.sequence for report in ear.heard] == list(range(1, len(ear.heard) + 1))
    sender.close()
    sender.close()
    num = len(ear.hear())
    time.sleep(0.05)
    assert len(ear.hear()) == num
    assert 2 * ALIVE_S < min(SILENT_S, TRUST_S)  # one may be lost


def test_a_step_that_never_ends_is_told_of_no_more(ear: Ear) -> None:
    sender = StateSender(ear.target, every_s=0.001, alive_s=0.01)
    sender.put(Report(num_running=1), False, time.monotonic() - STUCK_S - 1.0)
    time.sleep(0.1)
    assert len(ear.hear()) <= 2
    sender.put(Report(num_running=2), False, time.monotonic())  # it did end
    wait_until(lambda: len(ear.hear()) > 5)
    sender.close()


def test_a_process_that_starts_later_is_a_higher_incarnation(ear: Ear) -> None:
    for _ in range(2):
        sender = StateSender(ear.target)
        sender.put(Report(), False, time.monotonic())
        sender.close()
    assert ear.hear()[0].incarnation < ear.heard[1].incarnation


def test_an_owner_that_cannot_be_reached_costs_nothing() -> None:
    sender = StateSender(Target("no-such-host.invalid:9", TOKEN, "a"))
    sender.put(Report(), False, time.monotonic())
    assert sender.num_sent == 1
    sender.close()


def test_a_report_that_fails_is_the_last_and_the_engine_goes_on(
    ear: Ear, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = testing.scheduler_of(MODEL, "stock", False, 400)
    monkeypatch.setattr(Telemetry, "report", lambda self, now_s: 1 / 0)
    time.sleep(EVERY_S)  # from then on the next report is due, however quick the machine is
    arrivals = testing.workload(1, num_rels=3)
    ran = testing.run(scheduler, arrivals, False)
    assert set(ran.tokens) == {arrival.request_id for arrival in arrivals}
    assert [r.getMessage() for r in caplog.records if "fleet's owner is told no more" in r.getMessage()]
    scheduler.shutdown()


def test_one_of_several_ranks_reports_nothing(
    ear: Ear, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relserve.vllm_plugin import host

    monkeypatch.setattr(host, "is_one_of_several", lambda scheduler: True)
    scheduler = testing.scheduler_of(MODEL, "stock", False, 400)
    assert scheduler.telemetry is None
    assert "data parallel ranks" in caplog.text
    scheduler.shutdown()


def test_what_the_prefix_cache_has_is_not_counted(ear: Ear) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, "dpu+marginal", False, 400), testing.MadeUpWorker()
    template = list(range(320))
    scheduler.add_request(testing.MadeUpArrival(0, "first-0", [*template, 1], 1, {}).request())
    step(scheduler, worker)
    step(scheduler, worker)
    for i in range(50):
        scheduler.add_request(
            testing.MadeUpArrival(0, f"r-{i}", [*template, 7, i], 20, {"rel_id": "r"}).request()
        )
    scheduler.schedule()
    found = report_of(scheduler)
    assert found.num_waiting > 20
    assert found.waiting_tokens == pytest.approx(2 * found.num_waiting, rel=0.2)
    scheduler.shutdown()


@pytest.mark.performance
@pytest.mark.parametrize("variant", ["stock", "dpu+marginal"])
def test_a_report_costs_little_however_much_there_is(
    ear: Ear, variant: str, limit_s: Limit, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler, worker = testing.scheduler_of(MODEL, variant, False, 4000), testing.MadeUpWorker()
    for i in range(2000):
        scheduler.add_request(testing.MadeUpArrival(0, f"cmpl-{i}", [i % 900] * 40, 5, {}).request())
    for _ in range(3):
        step(scheduler, worker)
    taken: list[float] = []
    telemetry = scheduler.telemetry
    for _ in range(500):
        telemetry.sender._next_s = telemetry.spent_s = 0.0
        telemetry.tick()
        taken.append(telemetry.spent_s)
    median_s = statistics.median(taken)
    with capsys.disabled():
        sys.stdout.write(f" {1e6 * median_s:.0f} us a report ")
    assert median_s < limit_s(2e-4)  # 50 a second are then 1 %
    scheduler.shutdown()
