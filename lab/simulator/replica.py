"""One engine of a simulation with the policy that drives it: what its steps do, and what comes of them."""

from __future__ import annotations

import time
from collections import deque

from lab.simulator.engine import RelQueryEngineSpec, SimulatedEngine, StepWork
from lab.simulator.outcome import EngineOutcome, RelLatency
from lab.simulator.sim_relquery import SimRel
from lab.simulator.workload import RelSpec
from relserve.policies.dispatch.member_table import MIN_TOKEN_S
from relserve.policies.dispatch.state import Member, Report
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.online import FixedCost, OnlineCost
from relserve.policies.model.work import Work
from relserve.policies.scheduling.driver import StepDriver
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import StepView


class Replica:
    """An engine, its driver, and the relQueries on their way into it.

    Args:
        policy: decides the steps of this engine alone, from its first to its last.
        may_jump: whether decisions that cannot differ from the one before are repeated unasked; not where the
            policy learns from every step.
        lengths: what is known of output lengths; None: nothing.
    """

    def __init__(
        self, spec: RelQueryEngineSpec, policy: SchedulingPolicy, may_jump: bool = True,
        lengths: LengthLearner | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.engine, self.outcome = spec, SimulatedEngine(spec), EngineOutcome()
        cost = FixedCost(spec.cost) if spec.guess is None else OnlineCost(spec.guess)
        self._driver = StepDriver(policy, cost, lengths)
        self._arrived: deque[RelSpec] = deque()
        self._num_arrived_rows = 0
        self._is_awake, self._repeats = False, False
        self._may_jump = may_jump and not (policy.learns or policy.guard.keeps_time)
        self._reason = ""

    def member(self, name: str) -> Member:
        """The engine as a router is told of it when it joins."""
        limits = self.spec.limits
        return Member(name, self.spec.cost, limits.max_num_batched_tokens, float(limits.kv_tokens))

    def report(self, sequence: int) -> Report:
        """What a router is told of the engine now; rows on their way into it wait."""
        engine, token_s = self.engine, self.spec.cost.prefill_per_token_s
        arriving = sum([len(row.prompt) for rel in self._arrived for row in rel.rows])
        waiting = sum([rel.state.waiting_tokens for rel in engine.rels.values()]) + arriving
        begun = sum([rel.state.prefill_left for rel in engine.rels.values()])
        rels = [(rel.spec, rel.num_left) for rel in engine.rels.values()]
        rels += [(rel, len(rel.rows)) for rel in self._arrived]
        return Report(
            prompt_tokens=waiting + begun, num_running=engine.num_running,
            num_waiting=engine.num_left + self._num_arrived_rows - engine.num_running,
            free_tokens=engine.pool.num_free * engine.block_size - waiting,
            peak_tokens_per_s=1.0 / max(token_s, MIN_TOKEN_S), waiting_tokens=waiting,
            output_tokens=sum([num_rows * spec.output_cap for spec, num_rows in rels]),
            budget_tokens=self.spec.limits.max_num_batched_tokens, sequence=sequence,
        )  # fmt: skip

    def receive(self, rel: RelSpec) -> bool:
        """A relQuery comes; tells whether the engine was idle and begins with it."""
        self._arrived.append(rel)
        self._num_arrived_rows += len(rel.rows)
        was_awake, self._is_awake = self._is_awake, True
        return not was_awake

    def take_in(self, now_s: float) -> float:
        """Take what has come into the engine; gives the time when that is done."""
        while self._arrived:
            rel = self._arrived.popleft()
            self.engine.add(rel, self._driver.lengths_of(rel.kind, rel.output_cap))
            self._repeats = False
            self._num_arrived_rows -= len(rel.rows)
            now_s += self.spec.arrival_s_a_row * len(rel.rows)
        return now_s

    def sleeps(self) -> bool:
        """Whether there is nothing to do; it then waits for the next arrival."""
        self._is_awake = bool(self.engine.rels)
        return not self._is_awake

    def begin_step(self, now_s: float) -> StepWork:
        """Decide and begin a step.

        Raises:
            RuntimeError: no row fits, although nothing is held back.
        """
        started = time.perf_counter()
        decision = self._driver.decide(self._view(now_s))
        self.outcome.policy_s += time.perf_counter() - started
        work = self.engine.step(decision, now_s)
        self._driver.settle(has_scheduled=not work.is_empty, has_more=True)
        if self._driver.is_stuck:
            raise RuntimeError("a request does not fit the engine's memory")
        self._reason = decision.reason
        self._repeats = self._may_jump and decision.decode is None and self.engine.only_decodes(work)
        return work

    def _view(self, now_s: float) -> StepView:
        engine = self.engine
        changed, gone = engine.news()
        return StepView(
            changed,
            gone,
            engine.free_capacity(),
            engine.limits,
            now_s,
            self._driver.model,
            lambda state: engine.miss_ratio(state, self._driver.policy.learns),
            is_cost_sure=self._driver.is_cost_sure,
        )

    def end_step(self, work: StepWork, now_s: float) -> None:
        """The step is over."""
        step_s = self.spec.cost.step(work.prefill_tokens, work.num_decodes)
        self._driver.measured(Work(work.prefill_tokens, num_decodes=work.num_decodes), step_s)
        self._count(self.engine.finish(work, now_s), num_steps=1, now_s=now_s)

    def jump(self, now_s: float, until_s: float) -> float:
        """Repeat the latest step while no decision could differ; gives the time when that is over.

        Args:
            until_s: when the next relQuery may come.
        """
        if not self._repeats:
            return now_s
        stretch = self.engine.decode_on(now_s, until_s)
        self.outcome.reasons[self._reason] += stretch.num_steps
        self._count(stretch.done, stretch.num_steps, stretch.end_s)
        return stretch.end_s

    def _count(self, done: list[SimRel], num_steps: int, now_s: float) -> None:
        self.outcome.latencies += map(RelLatency.of, done)
        self.outcome.num_steps += num_steps
        self.outcome.end_s = now_s

    def result(self) -> EngineOutcome:
        """What was measured."""
        engine, outcome = self.engine, self.outcome
        outcome.num_preemptions = engine.num_preemptions
        outcome.cached_share = engine.num_cached_tokens / max(engine.num_prompt_tokens, 1)
        outcome.reasons += self._driver.reasons
        return outcome
