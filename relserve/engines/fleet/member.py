"""A member of a fleet as its owner sees it, and who brings members up: the seam to Ray, HTTP and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from relserve.engines.fleet.file import MemberSpec
from relserve.engines.protocol import Engine
from relserve.policies.dispatch.instalments import FIRST_ROWS
from relserve.policies.dispatch.state import Member
from relserve.policies.model.linear import CostModel

# Of a member of which nothing is known: about an 8B model on a GPU. Members are compared by it, no more.
UNKNOWN_COST = CostModel(3e-5, 3e-3, 2e-5, 9e-3, mixed_base_s=3e-3)
UNKNOWN_BUDGET, UNKNOWN_KV = 8192, 400_000.0
AT_SOCKET = "http://engine/v1"  # a socket has no name; HTTP wants one


class State(Enum):
    """Where a member is in its life."""

    STARTING = "starting"
    UP = "up"
    DEAD = "dead"  # it is brought up again in the background
    REFUSED = "refused"  # it answers as another model; it stays out until `resume`


class Launched(NamedTuple):
    """A member that came up.

    Attributes:
        engine: that asks it. It is to fail at once where the member dies: the fleet asks elsewhere.
        identity: the same for all members whose answers are the same; None: nobody knows, and answers are
            not kept.
        known: what is known of its speed and room before it reports.
        max_num_seqs: rows that it runs at once; None: not known.
        mark: the engine's own fingerprint; should it change, the member has another model by now.
    """

    engine: Engine
    identity: str | None
    known: Member
    max_num_seqs: int | None = None
    mark: str | None = None


class ApiPlace(NamedTuple):
    """Where a member serves OpenAI's API.

    Attributes:
        url: below which its endpoints are.
        model: its model's name there.
        socket: the Unix socket at which it listens; None: the URL leads there.
        headers: that it wants.
        is_vllm: whether it takes fields that are vLLM's alone.
        num_output_tokens: of requests of these ids so far, as far as that is seen from here.
    """

    url: str
    model: str
    socket: Path | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    is_vllm: bool = True
    num_output_tokens: Callable[[Sequence[str]], float] = lambda ids: 0.0


class Launcher(Protocol):
    """Brings members of one kind up and ends them; on the engine loop."""

    async def start(self, spec: MemberSpec) -> Launched:
        """Bring a member up, or find it up.

        Raises:
            EngineError: it did not come up; it is tried again later.
            ModelError: it serves another model; it is not tried again.
        """

    async def stop(self, spec: MemberSpec, engine: Engine) -> None:
        """End what `start` brought up, dead or alive; what is not ours is only let go."""

    async def ping(self, engine: Engine) -> bool:
        """Whether a member that is up says anything; True where its reports, or nothing, would tell.

        One that does not come back in `watch.PING_S` says nothing.
        """

    async def api(self, engine: Engine, arguments: Mapping[str, Any], model: str) -> ApiPlace | None:
        """Where a member serves OpenAI's API; None: where this process cannot reach it.

        Args:
            arguments: of vLLM's web app, for a member that was started here.
            model: the name by which clients ask for the model.

        Raises:
            EngineError: it serves none.
        """


def known_as(spec: MemberSpec, cost: CostModel | None = None, token_budget: int | None = None) -> Member:
    """What the policy is told of a member; what is not known is as of `UNKNOWN_COST`."""
    budget = token_budget or UNKNOWN_BUDGET
    return Member(spec.name, cost or UNKNOWN_COST, budget, UNKNOWN_KV, spec.weight)


@dataclass(eq=False)
class FleetMember:
    """A member and what has become of it.

    Attributes:
        life: how often it has died; what began in an earlier life counts for nothing.
        why: it is not up, in a line.
        drained: it gets nothing new.
        delay_s: until it is tried again.
        num_rows, num_answered: rows that it has now, and has answered so far.
        num_failed: how often it did not come up.
        reason: of the latest choice of it; `sent_by`: rows that it has got, by reason.
        silent: it is up, but does not say anything: what it has is asked elsewhere, too.
        kept_for: who alone may send it rows, for they may kill it; None: everybody may.
    """

    spec: MemberSpec
    launcher: Launcher
    state: State = State.STARTING
    launched: Launched | None = None
    life: int = 0
    why: str = ""
    drained: bool = False
    delay_s: float = 0.0
    up_since_s: float = field(default=0.0)
    num_failed: int = 0
    num_rows: int = 0
    num_answered: int = 0
    num_deaths: int = 0
    reason: str = ""
    sent_by: Counter[str] = field(default_factory=Counter)
    silent: bool = False
    kept_for: object | None = None

    @property
    def name(self) -> str:
        """By which the fleet's file calls it."""
        return self.spec.name

    @property
    def is_open(self) -> bool:
        """Whether it gets rows."""
        return self.state is State.UP and not self.drained

    @property
    def is_coming(self) -> bool:
        """Whether it may get rows later, without anybody's help."""
        return self.state is not State.REFUSED and not self.drained

    @property
    def first_rows(self) -> int:
        """Rows of a relQuery that it gets before it has shown its speed."""
        known = None if self.launched is None else self.launched.max_num_seqs
        return known or FIRST_ROWS

    def sent(self, num: int, reason: str) -> None:
        """It gets rows."""
        self.num_rows += num
        self.reason = reason
        self.sent_by[reason] += num
