"""A member of a simulated fleet: the engine of `simulator/budget`, and what it reports of itself."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np

from lab.simulator.budget.engine import Budgeted
from lab.simulator.budget.run import BudgetedEngineSpec
from lab.simulator.requests.engine import RequestsEngineSpec, RequestsStep, SimulatedRequestsEngine
from lab.simulator.requests.sim_request import RequestSpec, SimRequest
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.caching.requests import NOTHING, Floats
from relserve.policies.caching.state import BatchLimits, BlockMemory
from relserve.policies.dispatch.router import GUESS, MEMORY, Asked
from relserve.policies.dispatch.state import Member, Report
from relserve.policies.model.local_cost import LocalCost
from relserve.policies.model.means import RecentMean
from relserve.policies.model.structured import StepModel
from relserve.policies.model.work import Work


class SimulatedMemberSpec(NamedTuple):
    """A member.

    Attributes:
        policy: makes the budget policy of each of its processes.
        weight: its throughput, measured beforehand.
        cache_tokens: of its memory, those that keep prompts of sessions after their requests have ended.
    """

    name: str
    engine: BudgetedEngineSpec
    policy: Callable[[], BudgetPolicy]
    weight: float = 1.0
    cache_tokens: int = 0

    @property
    def member(self) -> Member:
        """As a router is told of it."""
        blocks = self.engine.num_blocks - self.cache_tokens // 16
        roofline = self.engine.times.roofline
        cost = replace(roofline.costs.steps, mixed_base_s=roofline.base_s)
        return Member(self.name, cost, self.engine.max_num_batched_tokens, 16.0 * blocks, self.weight)


@dataclass
class Learning:
    """A budget policy whose measured steps a cost model learns from, too.

    Attributes:
        foreseen_s: what was predicted of the latest measured step, before it was measured.
    """

    inner: BudgetPolicy
    cost: LocalCost
    foreseen_s: float = 0.0

    @property
    def name(self) -> str:
        """See `BudgetPolicy.name`."""
        return self.inner.name

    @property
    def model(self) -> StepModel | None:
        """See `BudgetPolicy.model`."""
        return self.inner.model

    @property
    def token_s(self) -> float | None:
        """See `BudgetPolicy.token_s`."""
        return self.inner.token_s

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        found = self.inner.choose(view)
        self.cost.budget_tokens = float(found.tokens)
        return found

    @property
    def peak_tokens_per_s(self) -> float:
        """P_max of the budget policy's model; by the cost model where it has none, or has learnt nothing."""
        peak = inf if self.model is None else self.model.peak_tokens_per_s
        return peak if peak < inf else 1.0 / self.cost.model.prefill_per_token_s

    def foresee(self, work: Work) -> float:
        """L_e of a step, of the same model."""
        if self.model is None or not self.model.is_ready:
            return self.cost.model.seconds(work)
        return self.model.seconds(work)

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""
        self.foreseen_s = self.foresee(work)
        self.inner.measured(work, seconds)
        self.cost.add(work, seconds)

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""
        self.inner.ended(request)


class Done(NamedTuple):
    """A request that a member has answered; when its first and its last token came."""

    asked: Asked
    first_s: float
    ended_s: float
    num_output: int


@dataclass
class SimMember:
    """One process of a member after the other; decides nothing and has no clock.

    Where it `may_jump`, steps that decode the same rows, all that it has, are one event and not asked of the
    budget policy: from the second on, until one of the rows ends, memory is short, or somebody comes.

    Attributes:
        incarnation: how many processes there were before; -1 before the first.
        turn: counts what it begins; an end that was announced in another turn is none.
        num_steps: steps that have ended.
        seen: the number of the latest dispatch that it was given, by owner.
        yours: how many requests it has, by owner.
    """

    spec: SimulatedMemberSpec
    seed: int
    may_jump: bool = False
    incarnation: int = -1
    turn: int = 0
    num_steps: int = 0
    seen: dict[int, int] = field(default_factory=dict)
    yours: Counter[int] = field(default_factory=Counter)
    step: RequestsStep | None = None
    _ends_s: Floats | None = None  # of steps that decode the same rows
    _decoding: list[SimRequest] = field(default_factory=list)  # the rows of such steps, or of one before them
    _sequence: int = 0
    _asked: dict[str, tuple[Asked, int]] = field(default_factory=dict)
    _done: list[Done] = field(default_factory=list)
    _held: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new process begins, with nothing in it."""
        engine = self.spec.engine
        self.incarnation += 1
        self.turn += 1
        self.step, self._ends_s = None, None
        self._decoding = []
        self._asked.clear()
        self.yours.clear()
        self._done.clear()
        self._held.clear()
        self.learning = Learning(
            self.spec.policy(), LocalCost(self.spec.member.cost, engine.max_num_batched_tokens)
        )
        self.budgeted = Budgeted(self.learning, engine.times, self.seed + 1000 * self.incarnation)
        blocks = engine.num_blocks - self.spec.cache_tokens // 16
        limits = BatchLimits(engine.max_num_seqs, engine.max_num_batched_tokens)
        spec = RequestsEngineSpec(self.budgeted, BlockMemory(blocks, 16, 32), limits, engine.exclusive)
        self.engine = SimulatedRequestsEngine(spec, self._ended)
        self._budget = float(engine.max_num_batched_tokens)
        self._output = RecentMean(GUESS, MEMORY)

    def receive(
        self, asked: Asked, num_output: int, number: int, gone_s: float, now_s: float, owner: int = 0
    ) -> None:
        """A request comes, which was asked `gone_s` ago; `number` is that of its owner's dispatch."""
        self.seen[owner] = max(self.seen.get(owner, -1), number)
        self.yours[owner] += 1
        held = min(self._held.pop(asked.session, 0.0), asked.shared_tokens) if asked.session else 0.0
        prompt = max(int(asked.prompt_tokens - held), 2)
        spec = RequestSpec(now_s, prompt, num_output, asked.ttft_slo_s - gone_s, asked.tpot_slo_s)
        self._asked[self.engine.add(spec).request_id] = asked, owner

    def begin(self, now_s: float) -> float | None:
        """Begin a step, or several of the same rows; gives the end, None where there is nothing to do.

        Raises:
            RuntimeError: none of its requests fits its memory.
        """
        self.turn += 1
        if not self.engine.live:
            self.step = None
            return None
        if len(self._decoding) == len(self.engine.live) and self._go_on(now_s):
            return self._end_s
        self.step = self.engine.begin(self.budgeted.plan(self.engine.view(now_s)))
        if not self.step.work.num_tokens:
            raise RuntimeError(f"{self.spec.name} runs none of its {len(self.engine.live)} requests")
        step_s = self.budgeted.seconds(self.step.work)
        if self.step.num_prompts:
            self._budget = self.learning.cost.budget_tokens
        return now_s + step_s

    def _go_on(self, now_s: float) -> bool:
        """Begin steps that decode the rows of the one before; false where there is no memory for one."""
        self.budgeted.now_s = now_s
        ends_s = self.engine.decodes(self._decoding, now_s)
        if not len(ends_s):
            return False
        self.step, self._ends_s = RequestsStep(self._decoding), ends_s
        return True

    @property
    def _end_s(self) -> float:
        assert self._ends_s is not None
        return float(self._ends_s[-1])

    def interrupt(self, now_s: float) -> float | None:
        """Somebody has come: let the step under way be the last of its series.

        Returns:
            When that ends; None where it would be the last in any case.
        """
        self.catch_up(now_s)
        if self._ends_s is None or len(self._ends_s) == 1:
            return None
        self.turn += 1
        self._ends_s = self._ends_s[:1]
        return self._end_s

    def catch_up(self, now_s: float) -> None:
        """Take note of those steps of a series that are over, but for the last."""
        if self._ends_s is None or self.step is None:
            return
        over = int(np.searchsorted(self._ends_s[:-1], now_s))
        if over:
            self.engine.gave_tokens(self.step.done, self._ends_s[:over].tolist())
            self.num_steps += over
            self._ends_s = self._ends_s[over:]

    def finish(self, now_s: float) -> list[Done]:
        """What was begun is over; gives what it has answered."""
        step, ends_s = self.step, self._ends_s
        assert step is not None
        self._done, self.step, self._ends_s = [], None, None
        if ends_s is not None:
            self.engine.gave_tokens(step.done, ends_s.tolist())
        else:
            self.engine.finish(step, now_s)
        self.num_steps += 1 if ends_s is None else len(ends_s)
        alike = self.may_jump and not (step.cut or step.num_prompts or step.num_dropped)
        self._decoding = [request for request in step.done if not request.is_finished] if alike else []
        return self._done

    def _ended(self, request: SimRequest) -> None:
        self.budgeted.ended(request)
        (asked, owner), token_s = self._asked.pop(request.request_id), request.token_s
        self.yours[owner] -= 1
        self._done.append(Done(asked, token_s[0], token_s[-1], len(token_s)))
        self._output = self._output.with_value(len(token_s), MEMORY)
        if asked.session and self.spec.cache_tokens:
            self._held[asked.session] = asked.prompt_tokens + len(token_s)
            while sum(self._held.values()) > self.spec.cache_tokens:
                self._held.popitem(last=False)

    def _foreseen_s(self) -> float:
        """L_e: of the step that runs, or of one in a series of which the budget policy is not told."""
        if self.step is None:
            return 0.0
        if self._ends_s is None:
            return self.learning.foreseen_s
        context = float(self.engine.table.num_computed.sum())
        return self.learning.foresee(Work(num_decodes=len(self._decoding), context_tokens=context))

    def reports(self, owners: Sequence[int]) -> list[Report]:
        """What it says of itself to each of these owners, while a step runs or none."""
        report = self._report()
        return [report._replace(seen=self.seen.get(owner, -1), yours=self.yours[owner]) for owner in owners]

    def _report(self) -> Report:
        table, engine = self.engine.table, self.spec.engine
        need = table.num_tokens - table.num_computed
        waits = table.holds == NOTHING
        num_waiting = int(np.count_nonzero(waits))
        output_tokens = float((table.num_tokens - table.num_prompt).sum())
        prompts = np.where(need > 1, need, 0)
        waiting = float(prompts[waits].sum())
        promised = waiting + num_waiting * self._output.value
        blocks = self.engine.spec.memory.num_blocks - self.engine.used_blocks
        self._sequence += 1
        outputs = self._output.value * len(table)
        return Report(
            step_s=self._foreseen_s(), prompt_tokens=float(prompts.sum()),
            num_running=len(table) - num_waiting, num_waiting=num_waiting,
            free_tokens=16.0 * blocks - promised,
            peak_tokens_per_s=self.learning.peak_tokens_per_s, waiting_tokens=waiting,
            output_tokens=max(outputs - output_tokens, 0.25 * outputs),
            budget_tokens=self._budget if len(table) else float(engine.max_num_batched_tokens),
            incarnation=self.incarnation, sequence=self._sequence, cost=self.learning.cost.model,
        )  # fmt: skip
