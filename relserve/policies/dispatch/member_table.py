"""The members as one router knows them: what each reported last, and what it was sent since.

Numbers stand in columns, a row a member, so that a choice among hundreds is a few operations on arrays. Rows
move when a member leaves. Times are the router's own; a member's clock is never compared with it: what a
report counts is told by the number of the latest dispatch in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import NamedTuple

import numpy as np

from relserve.policies.dispatch.state import Column, EngineLoad, Member, Report, Request
from relserve.policies.model.linear import CostModel

TRUST_S = 2.0  # a member is taken to work on for so long after its latest report
MIN_TOKEN_S = 1e-12  # of a made-up member whose prompts cost nothing
WINDOW_S = 2.0  # "recent 2 s average latency", of the baselines of section 7.4
REPORTED = (
    "step_s", "free_tokens", "peak_tokens_per_s", "waiting_tokens", "num_waiting", "num_running",
    "prompt_tokens", "output_tokens", "budget_tokens",
)  # fmt: skip
OWN = (
    "received_s", "backlog", "backlog_s", "waiting_s", "since_num", "since_prompt", "since_output",
    "since_need", "others", "unanswered", "weight", "token_budget", "kv_tokens",
    "token_s", "request_s", "mixed_base_s", "decode_base_s",
)  # fmt: skip
PLACE = {name: place for place, name in enumerate((*REPORTED, *OWN))}
DRAIN = [
    PLACE[name]
    for name in (
        "backlog", "backlog_s", "received_s", "budget_tokens", "token_s", "request_s", "mixed_base_s",
        "num_running",
    )
]  # fmt: skip
KNOWN = slice(PLACE["num_waiting"], PLACE["waiting_s"] + 1)  # one slice, for it is written before each choice


class Sent(NamedTuple):
    """A dispatch: what it adds to a member."""

    prompt_tokens: float
    output_tokens: float


@dataclass(slots=True)
class _Link:
    """What is kept of a member beside its columns.

    Attributes:
        unanswered: dispatches by number, those with a number above `seen` in no report yet.
    """

    member: Member
    cost: CostModel
    latest: tuple[int, int] = (-1, -1)
    seen: int = -1
    unanswered: dict[int, Sent] = field(default_factory=dict)
    latencies: deque[tuple[float, float]] = field(default_factory=deque)
    latency_s: float = 0.0

    def forget(self, now_s: float) -> None:
        """Let latencies of more than `WINDOW_S` ago go, and those of a clock that went back."""
        while self.latencies and not now_s - WINDOW_S <= self.latencies[0][0] <= now_s:
            self.latencies.popleft()


class MemberTable:
    """The members of a fleet; whoever owns it says what happens.

    Attributes:
        names: of the members, in the order of their rows.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._rows: dict[str, int] = {}
        self._links: list[_Link] = []
        self._table = np.zeros((len(PLACE), 16))
        self._number = -1
        self._latest: dict[str, tuple[int, int]] = {}  # reports of those that left, which may come late

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, column: str) -> Column:
        """One of REPORTED or OWN, to be read only; `received_s` is -inf where nothing was reported yet."""
        found: Column = self._table[PLACE[column], : len(self.names)]
        return found

    def row(self, name: str) -> int:
        """The row of a member; -1: there is none of that name."""
        return self._rows.get(name, -1)

    def member(self, row: int) -> Member:
        """What was said of it when it joined."""
        return self._links[row].member

    def among(self, names: Collection[str]) -> MemberTable:
        """Some of the members as they are now: to choose from, not to be told anything."""
        rows = [self._rows[name] for name in names if name in self._rows]
        if len(rows) == len(self.names):
            return self
        part = MemberTable()
        part.names, part._links = [self.names[row] for row in rows], [self._links[row] for row in rows]
        part._rows = {name: row for row, name in enumerate(part.names)}
        part._table = self._table[:, rows]
        return part

    def emptied(self) -> MemberTable:
        """The same members with nothing to do, which cost what is known of them."""
        found = MemberTable()
        for link in self._links:
            found.join(link.member._replace(cost=link.cost))
        return found

    def costs(self) -> list[CostModel]:
        """What each member's steps cost as far as it is known."""
        return [link.cost for link in self._links]

    def some(self) -> None:
        """Raise where there is nobody to choose.

        Raises:
            ValueError: the fleet has no member.
        """
        if not self.names:
            raise ValueError("the fleet has no member to send a request to")

    def join(self, member: Member) -> None:
        """A member comes, or comes back; one of that name that is still there leaves."""
        self.leave(member.name)
        row = len(self.names)
        if row == self._table.shape[1]:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
        self.names.append(member.name)
        self._links.append(_Link(member, member.cost, self._latest.pop(member.name, (-1, -1))))
        self._rows[member.name] = row
        self._table[:, row] = 0.0
        self._set(
            row, received_s=-inf, backlog_s=-inf, weight=member.weight, token_budget=member.token_budget,
            kv_tokens=member.kv_tokens, free_tokens=member.kv_tokens, budget_tokens=member.token_budget,
            peak_tokens_per_s=1.0 / max(member.cost.prefill_per_token_s, MIN_TOKEN_S), waiting_s=nan,
        )  # fmt: skip
        self._learn(row, member.cost)

    def leave(self, name: str) -> list[int]:
        """A member goes or is dead; gives the numbers of its dispatches that were not answered."""
        row = self._rows.pop(name, -1)
        if row < 0:
            return []
        link, last = self._links[row], len(self.names) - 1
        self._latest[name] = link.latest
        if row != last:
            self.names[row], self._links[row] = self.names[last], self._links[last]
            self._rows[self.names[row]] = row
            self._table[:, row] = self._table[:, last]
        self.names.pop()
        self._links.pop()
        return list(link.unanswered)

    def report(self, name: str, report: Report, now_s: float) -> bool:
        """A member's report has come; one that is older than its latest, or of nobody, counts for nothing."""
        row = self.row(name)
        if row < 0:
            return False
        link, age = self._links[row], (report.incarnation, report.sequence)
        if age <= link.latest:
            return False
        link.latest, link.seen = age, max(link.seen, report.seen)
        since = [sent for number, sent in link.unanswered.items() if number > link.seen]
        self._table[: len(REPORTED), row] = (
            report.step_s, report.free_tokens, report.peak_tokens_per_s, report.waiting_tokens,
            report.num_waiting, report.num_running, report.prompt_tokens, report.output_tokens,
            report.budget_tokens,
        )  # fmt: skip
        prompts = sum([sent.prompt_tokens for sent in since])
        outputs = sum([sent.output_tokens for sent in since])
        self._set(
            row, received_s=now_s, since_num=len(since), since_prompt=prompts, since_output=outputs,
            since_need=prompts + outputs, backlog=report.prompt_tokens + prompts, backlog_s=now_s,
            others=max(report.num_running + report.num_waiting - report.yours, 0),
        )  # fmt: skip
        if report.cost is not None:
            self._learn(row, report.cost)
        return True

    def know(self, row: int, load: EngineLoad, now_s: float) -> None:
        """Who keeps a member's queue says what is in it: instead of reports, and of telling what was sent."""
        self._table[KNOWN, row] = (
            load.num_waiting, load.num_running, load.prompt_tokens, load.output_tokens, load.budget_tokens,
            now_s, load.prompt_tokens, now_s, load.waiting_s,
        )  # fmt: skip

    def sent(self, row: int, request: Request, now_s: float) -> int:
        """A request goes to that member; gives the dispatch's number."""
        return self.sent_all(row, [request], now_s)

    def sent_all(self, row: int, requests: Sequence[Request], now_s: float) -> int:
        """Requests go to that member; gives the number of the last dispatch, the others have those before."""
        name, found = self.names[row], list[Sent]()
        for request in requests:
            cached = request.cached_tokens.get(name, 0.0) if request.cached_tokens else 0.0
            found.append(Sent(max(request.prompt_tokens - cached, 1.0), request.output_tokens))
        first, self._number = self._number + 1, self._number + len(found)
        self._links[row].unanswered.update(enumerate(found, first))
        prompts = sum([sent.prompt_tokens for sent in found])
        outputs = sum([sent.output_tokens for sent in found])
        column, place = self._table[:, row], PLACE
        column[place["backlog"]] = self._remaining_tokens(slice(row, row + 1), now_s)[0] + prompts
        column[place["backlog_s"]] = now_s
        column[place["since_num"]] += len(found)
        column[place["since_prompt"]] += prompts
        column[place["since_output"]] += outputs
        column[place["since_need"]] += prompts + outputs
        column[place["unanswered"]] += len(found)
        return self._number

    def ended(self, name: str, number: int, now_s: float, latency_s: float | None = None) -> None:
        """A dispatch was answered, cancelled, or lost on the way; one that is not known counts for nothing.

        Args:
            latency_s: how long the answer took; None where there is none.
        """
        row = self.row(name)
        link = self._links[row] if row >= 0 else None
        if link is None or number not in link.unanswered:
            return
        sent = link.unanswered.pop(number)
        if latency_s is not None:
            link.latencies.append((now_s, latency_s))
            link.forget(now_s)
            link.latency_s = latency_s
        column = self._table[:, row]
        column[PLACE["unanswered"]] -= 1
        if number > link.seen:
            column[PLACE["since_num"]] -= 1
            column[PLACE["since_prompt"]] -= sent.prompt_tokens
            column[PLACE["since_output"]] -= sent.output_tokens
            column[PLACE["since_need"]] -= sent.prompt_tokens + sent.output_tokens

    def num_waiting(self) -> Column:
        """Requests that wait at each by its report, and those that were sent since."""
        found: Column = self["num_waiting"] + self["since_num"]
        return found

    def prompt_tokens(self) -> Column:
        """Still to be computed by each, as it reported, and of what was sent since."""
        found: Column = self["prompt_tokens"] + self["since_prompt"]
        return found

    def held(self, request: Request) -> Column:
        """Tokens of a request's prompt that each is taken to hold."""
        found = np.zeros(len(self.names))
        for name, tokens in request.cached_tokens.items():
            if (row := self.row(name)) >= 0:
                found[row] = tokens
        return found

    def num_requests(self) -> Column:
        """Requests that each has, of whomever: this router's are known exactly, others' by its report."""
        found: Column = self["others"] + self["unanswered"]
        return found

    def silent_s(self, now_s: float) -> Column:
        """For how long each has said nothing beyond `TRUST_S`; 0 where it never has: it is new."""
        ages_s = self.ages_s(now_s)
        return np.where(np.isfinite(ages_s), np.maximum(ages_s - TRUST_S, 0.0), 0.0)

    def ages_s(self, now_s: float) -> Column:
        """How old each state is; infinite where there is none. A clock that went back begins anew."""
        received_s = self["received_s"]
        np.minimum(received_s, now_s, out=received_s)
        return now_s - received_s

    def remaining_tokens(self, now_s: float) -> Column:
        """Prompt tokens that each has still to compute, if it did what its cost model says since.

        Of one that has been silent for `TRUST_S` nothing is believed to be done after that.
        """
        return self._remaining_tokens(slice(len(self.names)), now_s)

    def _remaining_tokens(self, rows: slice, now_s: float) -> Column:
        tokens, at_s, received_s, budget, token_s, request_s, base_s, running = self._table[DRAIN, rows]
        budget = np.maximum(budget, 1.0)
        until_s = np.where(received_s > -inf, np.minimum(received_s + TRUST_S, now_s), now_s)
        passed_s = np.clip(until_s - at_s, 0.0, 1e9)
        found: Column = np.maximum(
            tokens - passed_s * budget / (token_s * budget + request_s * running + base_s), 0.0
        )
        return found

    def latencies_s(self, now_s: float) -> Column:
        """Each member's mean latency of the last two seconds; else its last known."""
        for link in self._links:
            link.forget(now_s)
            if ended := link.latencies:
                link.latency_s = sum([latency_s for _, latency_s in ended]) / len(ended)
        return np.array([link.latency_s for link in self._links])

    def _learn(self, row: int, cost: CostModel) -> None:
        self._links[row].cost = cost
        self._set(
            row, token_s=cost.prefill_per_token_s, request_s=cost.decode_per_request_s,
            mixed_base_s=cost.shared_base_s, decode_base_s=cost.decode_base_s,
        )  # fmt: skip

    def _set(self, row: int, **values: float) -> None:
        for name, value in values.items():
            self._table[PLACE[name], row] = value
