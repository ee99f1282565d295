"""What a router's policy is: one pure decision a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Request
from relserve.policies.workflows.stages import PastWorkflow


class DispatchPolicy(Protocol):
    """Chooses the member of each request; owns no queue, no connection and no clock."""

    @property
    def name(self) -> str:
        """The variant's name."""

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """The member's row of the table, which has one at least (see `MemberTable.some`).

        Raises:
            ValueError: there is none.
        """


@runtime_checkable
class TunedPolicy(DispatchPolicy, Protocol):
    """One that also learns from the workflows whose steps it sends.

    Tuning takes longer than a choice may. So a policy gives it as a function, and whoever owns the policy
    calls that where it holds up nobody.
    """

    def arrived(self, workflow: PastWorkflow, now_s: float) -> None:
        """A workflow has come, with its steps as they turn out.

        Who does not know them yet tells of it when it has ended.
        """

    def ended(self, latency_s: float, now_s: float, members: MemberTable) -> Callable[[], float] | None:
        """A workflow has ended after so long.

        Returns:
            What is to be tuned now, from what is known at this time: a function that gives the value for
            `take`, and may run on another thread. None: nothing.
        """

    def take(self, value: float, now_s: float) -> None:
        """What was tuned holds from now on."""
