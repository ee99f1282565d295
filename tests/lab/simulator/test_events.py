"""The event heap: order and ties; several engines and who is sent where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.events import Event, EventHeap, RelQueryArrival, StepEnd, StepStart
from lab.simulator.replica import Replica
from lab.simulator.run import simulate, simulate_replicas
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.dispatch.loads import LeastLoaded
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Request
from relserve.policies.dispatch.turns import RoundRobin
from relserve.policies.dispatch.variants import NAMES as ROUTERS
from relserve.policies.dispatch.variants import make as make_router
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import make
from tests.lab.simulator.traces import COST, bursty_trace, engine_for

ROOMY = RelQueryEngineSpec(COST, EngineLimits(64, 2048, 100_000))


@dataclass
class Noted:
    """Writes its name down, and is followed by others."""

    rank: ClassVar[int] = 1
    time_s: float
    name: str
    log: list[str]
    follow: list[Event] = field(default_factory=list)

    def handle(self) -> Iterable[Event]:
        self.log.append(self.name)
        return self.follow


class Early(Noted):
    rank: ClassVar[int] = 0


def one_row(rel_id: str, arrival_s: float, output_tokens: int = 2) -> RelSpec:
    prompt = tuple(range(len(rel_id), len(rel_id) + 100))
    return RelSpec(rel_id, arrival_s, (RowSpec(prompt, output_tokens),), output_tokens)


def test_events_go_by_time_then_rank_then_sequence() -> None:
    log: list[str] = []
    events = [Noted(2.0, "late", log), Noted(1.0, "b", log), Early(1.0, "a", log), Noted(1.0, "c", log)]
    EventHeap(events).run()
    assert log == ["a", "b", "c", "late"]


def test_what_follows_at_the_same_time_goes_by_rank_too_and_after_its_equals() -> None:
    log: list[str] = []
    follow = [Noted(1.0, "c", log), Early(1.0, "a", log)]
    EventHeap([Noted(1.0, "first", log, follow), Noted(1.0, "b", log)]).run()
    assert log == ["first", "a", "b", "c"]


def test_a_step_ends_before_who_comes_then_and_the_next_begins_after() -> None:
    assert StepEnd.rank < RelQueryArrival.rank < StepStart.rank


def test_who_comes_as_a_step_ends_is_in_the_next_one() -> None:
    cost = CostModel(0.0, 0.5, 0.0, 0.25)
    spec = RelQueryEngineSpec(cost, EngineLimits(8, 2048, 10_000))
    outcome = simulate([one_row("a", 0.0, 4), one_row("bb", 0.5)], spec, make("fcfs"))
    assert {r.rel_id: r.waiting_s for r in outcome.latencies} == {"a": 0.0, "bb": 0.0}
    late = simulate([one_row("a", 0.0, 4), one_row("bb", 0.5 + 1e-6)], spec, make("fcfs"))
    assert {r.rel_id: r.waiting_s for r in late.latencies}["bb"] == pytest.approx(0.25 - 1e-6)


def test_who_comes_together_is_in_one_step() -> None:
    trace = [one_row(name, 1.0) for name in ("a", "bb", "ccc")]
    outcome = simulate(trace, ROOMY, make("fcfs"))
    assert len({r.core_s for r in outcome.latencies}) == 1
    assert outcome.num_steps == 2


def test_taking_rows_in_takes_time_in_which_others_come() -> None:
    rows = tuple(RowSpec((i,) * 50, 1) for i in range(10))
    spec = RelQueryEngineSpec(COST, EngineLimits(64, 2048, 100_000), arrival_s_a_row=0.01)
    trace = [RelSpec("a", 0.0, rows, 1), RelSpec("b", 0.05, rows, 1)]
    outcome = simulate(trace, spec, make("fcfs"))
    assert [r.waiting_s for r in outcome.latencies] == pytest.approx([0.2, 0.15])


def test_round_robin_takes_turns() -> None:
    trace = [one_row(f"r{i}", float(i)) for i in range(7)]
    replicas = [Replica(ROOMY, make("fcfs")) for _ in range(3)]
    outcomes = simulate_replicas(trace, replicas, RoundRobin())
    assert [[r.rel_id for r in o.latencies] for o in outcomes] == [
        ["r0", "r3", "r6"],
        ["r1", "r4"],
        ["r2", "r5"],
    ]


def test_the_least_loaded_has_the_fewest_rows_to_do_also_of_those_on_their_way() -> None:
    large = RelSpec("large", 0.0, tuple(RowSpec((i,) * 50, 100) for i in range(30)), 100)
    trace = [large, *(one_row(f"r{i}", 0.0) for i in range(5))]
    outcomes = simulate_replicas(trace, [Replica(ROOMY, make("fcfs")) for _ in range(2)], LeastLoaded(""))
    assert [len(o.latencies) for o in outcomes] == [1, 5]


def test_a_router_sees_what_every_engine_has_left() -> None:
    replicas = [Replica(ROOMY, make("fcfs")) for _ in range(2)]
    seen = list[float]()

    class First(LeastLoaded):
        def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
            in_engine = replicas[0].engine.rels.values()
            loads = self.measure(members, now_s).tolist()
            assert loads == [sum(one.num_left for one in in_engine), 0]
            seen.append(loads[0])
            return 0

    trace = bursty_trace(4)
    moved = [replace(rel, arrival_s=float(i)) for i, rel in enumerate(trace)]
    simulate_replicas(moved, replicas, First(""))
    assert max(seen) > 1
    end = replicas[0].report(0)
    assert (end.num_waiting, end.num_running, end.prompt_tokens, end.output_tokens) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", ROUTERS)
def test_every_router_of_fleets_serves_relqueries_on_unequal_engines(name: str) -> None:
    specs = [ROOMY, replace(ROOMY, cost=COST.scaled(3.0))]
    trace = bursty_trace(4, count=20)
    outcomes = simulate_replicas(trace, [Replica(spec, make("fcfs")) for spec in specs], make_router(name))
    assert sorted(r.rel_id for o in outcomes for r in o.latencies) == sorted(r.rel_id for r in trace)


@pytest.mark.parametrize("name", ["fcfs", "dpu+aba", "dpu+marginal"])
def test_engines_do_not_touch_each_other(name: str) -> None:
    trace = bursty_trace(4, count=20)
    spec = engine_for(name, 3000)
    both = simulate_replicas(trace, [Replica(spec, make(name)) for _ in range(2)], RoundRobin())
    for number, outcome in enumerate(both):
        alone = simulate(trace[number::2], spec, make(name))
        assert [r[1:] for r in outcome.latencies] == [r[1:] for r in alone.latencies]


def test_two_engines_are_faster_than_one_and_serve_everything() -> None:
    trace = bursty_trace(6, count=30)
    one = simulate(trace, engine_for("fcfs", 3000), make("fcfs"))
    replicas = [Replica(engine_for("fcfs", 3000), make("fcfs")) for _ in range(2)]
    two = simulate_replicas(trace, replicas, LeastLoaded(""))
    latencies = [r for outcome in two for r in outcome.latencies]
    assert sorted(r.rel_id for r in latencies) == sorted(r.rel_id for r in trace)
    assert sum(r.latency_s for r in latencies) / len(latencies) < one.mean_s


def test_a_step_in_which_nothing_fits_takes_no_time() -> None:
    """Exclusive prefill is chosen by mean rows; where the first row is larger it may not fit."""
    trace = bursty_trace(1)
    outcome = simulate(trace, engine_for("dpu+pp", 1500), make("dpu+pp"))
    assert outcome.reasons["everything"] > 0
    assert outcome.num_steps < outcome.reasons.total()
