"""Those who want to enter together: one request, or the rows of a relQuery, and their permits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from relserve.call.standing import Standing
from relserve.errors import AdmissionError
from relserve.policies.admission.request import AdmissionRequest

SHORT = 64  # tokens of a prompt, whose work is little beside an answer's


def size_of(prompt_tokens: float) -> int:
    """Of prompts that take about as much work as one: 0 for short ones, then one more for each doubling."""
    return (int(prompt_tokens) // SHORT).bit_length()


@dataclass(eq=False)
class RequestGroup:
    """Rows of one user, class, deadline and expected length.

    Attributes:
        kind: of answers whose lengths are alike.
        arrival_s, deadline_s: by the gate's clock.
        tokens: that a row is expected to say, and what its prompt takes, in such tokens.
        num_left: rows that neither have started nor stand at the controller.
        rank: of one user and class the groups come to the controller by their ranks, the lowest first.
        started, refused: told when a row starts, and when all that wait are turned away. Called under the
            gate's lock, from any thread: they are to be quick and to call nothing of the gate.
        told: told now and then where it stands while rows wait, and when none does any more, if it was told
            before; None: nobody looks.
        waits: whether it wants to, when it would probably be late.
        size: of its prompts, see `size_of`.
        group: by which is learnt what its rows take; "": by kind, or class.
        offered: requests that stand at the controller; `permits`: of the rows that run.
    """

    user: str
    slo_class: str
    kind: str
    arrival_s: float
    deadline_s: float
    tokens: float
    num_left: int
    started: Callable[[Permit], None]
    refused: Callable[[AdmissionError], None]
    told: Callable[[Standing], None] | None = None
    rank: float = 0.0
    is_told: bool = False
    waits: bool = True
    size: int = 0
    group: str = ""
    offered: dict[str, AdmissionRequest] = field(default_factory=dict)
    permits: dict[str, Permit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.group = self.group or self.kind or self.slo_class

    @property
    def num_waiting(self) -> int:
        """Rows that have not started."""
        return self.num_left + len(self.offered)

    def next_request(self, request_id: str) -> AdmissionRequest:
        """The next row, as the controller is told of it."""
        self.num_left -= 1
        return self.request(request_id)

    def request(self, request_id: str) -> AdmissionRequest:
        """A row, as the controller is told of it."""
        return AdmissionRequest(
            request_id, self.slo_class, self.user, self.arrival_s, self.deadline_s, self.tokens,
            self.group,
        )  # fmt: skip


class Permit:
    """A request that has started, or a row of a relQuery.

    Attributes:
        num_output_tokens: that it has said so far.
        waited_s: seconds that it waited.
    """

    __slots__ = ("num_output_tokens", "request_id", "waited_s")

    def __init__(self, request_id: str, waited_s: float) -> None:
        self.request_id, self.waited_s = request_id, waited_s
        self.num_output_tokens = 0.0

    def progress(self, tokens: float) -> None:
        """It has said so many tokens in all, from which speeds are measured; from any thread, often."""
        self.num_output_tokens = tokens
