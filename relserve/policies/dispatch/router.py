"""The router of a fleet's owner: sends requests by a policy, counts them, and asks again what a member lost.

Pure: whoever has the connections and the clock calls it, a simulation or a process that owns real engines.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import Member, Report, Request
from relserve.policies.model.means import KeyedMeans, RecentMean

GUESS, MEMORY = 128.0, 50  # tokens of an answer before any has ended; answers of a kind in its mean
MOST_SESSIONS = 100_000


class Asked(NamedTuple):
    """A request as its client asks it.

    Attributes:
        cap: the most tokens that it may say.
        kind: requests of one kind have answers of one length's distribution.
        shared_tokens: how much of the prompt was asked earlier in its session, or is its relQuery's template.
    """

    request_id: str
    prompt_tokens: float
    cap: float = inf
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf
    kind: str = ""
    session: str = ""
    shared_tokens: float = 0.0


@dataclass(slots=True)
class _Open:
    asked: Asked
    sent_s: float
    member: str
    number: int


@dataclass
class Router:
    """The requests under way, and what is learnt of lengths and of who holds which prompts.

    Attributes:
        members: those that are up, with what each has reported and was sent since.
        open: requests that were sent and have not ended, by id.
    """

    policy: DispatchPolicy
    members: MemberTable = field(default_factory=MemberTable)
    open: dict[str, _Open] = field(default_factory=dict)
    _lengths: KeyedMeans = field(default_factory=lambda: KeyedMeans(MEMORY, 1, RecentMean(GUESS, 1)))
    _held: OrderedDict[str, dict[str, float]] = field(default_factory=OrderedDict)

    def join(self, member: Member) -> None:
        """A member is ready; it holds no prompts."""
        self.members.join(member)

    def leave(self, name: str) -> list[Asked]:
        """A member is gone; gives what it has not answered, which is to be sent again."""
        numbers = set(self.members.leave(name))
        lost = [each for each in self.open.values() if each.member == name and each.number in numbers]
        for each in lost:
            del self.open[each.asked.request_id]
        for held in self._held.values():
            held.pop(name, None)
        return [each.asked for each in lost]

    def report(self, name: str, report: Report, now_s: float) -> bool:
        """See `MemberTable.report`."""
        return self.members.report(name, report, now_s)

    def send(self, asked: Asked, now_s: float) -> tuple[str, int]:
        """Choose where a request goes; gives the member's name and the dispatch's number.

        Raises:
            ValueError: the fleet has no member.
        """
        name = self.choose(asked, now_s)
        return name, self.put([asked], name, now_s)

    def choose(self, asked: Asked, now_s: float, among: Collection[str] | None = None) -> str:
        """The member that the policy would send a request to, of all or of those named.

        Raises:
            ValueError: none of them is there.
        """
        members = self.members if among is None else self.members.among(among)
        return members.names[self.policy.choose(self.request(asked), members, now_s)]

    def put(self, asked: Sequence[Asked], name: str, now_s: float) -> int:
        """Requests go to a member, whoever chose it; gives the number of the last dispatch."""
        last = self.members.sent_all(self.members.row(name), [self.request(each) for each in asked], now_s)
        for number, each in enumerate(asked, last - len(asked) + 1):
            self.open[each.request_id] = _Open(each, now_s, name, number)
            if each.session:
                self._hold(each, name)
        return last

    def _hold(self, asked: Asked, name: str) -> None:
        held = self._held.pop(asked.session, {})
        held[name] = asked.prompt_tokens
        self._held[asked.session] = held
        while len(self._held) > MOST_SESSIONS:
            self._held.popitem(last=False)

    def ended(self, request_id: str, now_s: float, num_output: float | None = None) -> None:
        """A request has ended; one that is not known counts for nothing.

        Args:
            num_output: tokens that it generated; None where it was cancelled or failed.
        """
        found = self.open.pop(request_id, None)
        if found is None:
            return
        latency_s = None if num_output is None else max(now_s - found.sent_s, 0.0)
        self.members.ended(found.member, found.number, now_s, latency_s)
        if num_output is not None:
            self._lengths.add(found.asked.kind, num_output)

    def request(self, asked: Asked) -> Request:
        """A request as a policy sees it."""
        known = self._lengths.of(asked.kind)
        mean = GUESS if known is None else known
        held = self._held.get(asked.session) if asked.session and asked.shared_tokens > 0 else None
        cached = {name: min(tokens, asked.shared_tokens) for name, tokens in (held or {}).items()}
        return Request(
            asked.prompt_tokens, max(min(mean, asked.cap), 1.0), asked.ttft_slo_s, asked.tpot_slo_s,
            cached,
        )  # fmt: skip
