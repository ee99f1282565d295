"""Those that ask for no state: one member after the other, and in proportion to measured throughputs."""

from __future__ import annotations

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Request


class RoundRobin:
    """One member after the other."""

    def __init__(self, name: str = "round_robin") -> None:
        self.name = name
        self._next = 0

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        chosen = self._next % len(members)
        self._next = chosen + 1
        return chosen


class Weighted:
    """In proportion to the members' weights, spread evenly: each gains its weight, the richest pays all."""

    def __init__(self, name: str = "weighted") -> None:
        self.name = name
        self._credits: dict[str, float] = {}

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        weights, credits = members["weight"].tolist(), self._credits
        if len(credits) != len(members) or any(name not in credits for name in members.names):
            credits = self._credits = {name: credits.get(name, 0.0) for name in members.names}
        best, most = 0, float("-inf")
        for row, name in enumerate(members.names):
            credits[name] += weights[row]
            if credits[name] > most:
                best, most = row, credits[name]
        credits[members.names[best]] -= sum(weights)
        return best
