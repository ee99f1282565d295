"""The owner's end of the channel of states: who may speak, and what of it counts."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from relserve.engines.fleet.state_channel import StateChannel
from relserve.errors import EngineError, UsageError
from relserve.machine.state_message import MAX_BYTES, Target, encode
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Member, Report
from relserve.policies.model.linear import CostModel

COST = CostModel(3e-5, 3e-3, 2e-5, 9e-3)


class Owner:
    """A channel, what it was told, and a network that does what a test says."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Report]] = []
        self.channel = StateChannel(lambda name, report: self.got.append((name, report)))
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, *datagrams: bytes) -> None:
        host, _, port = self.channel.address.rpartition(":")
        for datagram in datagrams:
            self.socket.sendto(datagram, (host, int(port)))

    async def settled(self, num: int) -> None:
        """Once so many datagrams were looked at, of those that came; none is on its way."""
        async with asyncio.timeout(60):
            while self.channel.taken + sum(self.channel.dropped.values()) < num:
                await asyncio.sleep(0.001)


@asynccontextmanager
async def owner() -> AsyncIterator[Owner]:
    made = Owner()
    await made.channel.open()
    try:
        yield made
    finally:
        made.channel.close()
        made.socket.close()


def run(test: Callable[[Owner], Awaitable[None]]) -> None:
    async def with_owner() -> None:
        async with owner() as made:
            await test(made)

    asyncio.run(with_owner())


def said(target: Target, sequence: int, incarnation: int = 1, **fields: Any) -> bytes:
    return encode(Report(incarnation=incarnation, sequence=sequence, **fields), target, 0.0)


def test_reports_arrive_with_their_names() -> None:
    async def test(owner: Owner) -> None:
        a, b = owner.channel.expect("a"), owner.channel.expect("b")
        assert a.address.startswith("127.0.0.1:")  # nobody else can reach it by default
        assert len({a.token, b.token}) == 2
        owner.send(said(a, 1, num_running=3), said(b, 1, num_waiting=4))
        await owner.settled(2)
        assert [(name, r.num_running, r.num_waiting) for name, r in owner.got] == [("a", 3, 0), ("b", 0, 4)]
        assert not owner.channel.dropped

    run(test)


def test_repeated_and_overtaken_reports_count_for_nothing() -> None:
    async def test(owner: Owner) -> None:
        a = owner.channel.expect("a")
        recorded = [said(a, number, prompt_tokens=float(number)) for number in range(1, 6)]
        owner.send(recorded[0], recorded[0], recorded[3], recorded[1], recorded[2], recorded[3], recorded[4])
        await owner.settled(7)
        assert [report.sequence for _, report in owner.got] == [1, 4, 5]
        assert owner.channel.dropped == {"old": 4}

    run(test)


def test_a_process_that_starts_again_begins_anew_and_its_predecessor_is_heard_no_more() -> None:
    async def test(owner: Owner) -> None:
        a = owner.channel.expect("a")
        owner.send(said(a, 900, incarnation=1), said(a, 1, incarnation=2), said(a, 901, incarnation=1))
        await owner.settled(3)
        assert [(report.incarnation, report.sequence) for _, report in owner.got] == [(1, 900), (2, 1)]
        assert owner.channel.dropped == {"old": 1}

    run(test)


def test_whoever_lacks_the_secret_is_not_believed() -> None:
    async def test(owner: Owner) -> None:
        a, b = owner.channel.expect("a"), owner.channel.expect("b")
        guess = Target(a.address, "a guess of 16 characters", "a")
        other = Target(a.address, b.token, "a")  # a member that speaks for another
        old = said(a, 5)
        owner.send(said(guess, 1), said(other, 1), said(Target(a.address, a.token, "z"), 1), b"", b"x" * 4000)
        await owner.settled(5)
        a = owner.channel.expect("a")  # it starts again, with a new secret
        owner.send(old)
        await owner.settled(6)
        owner.channel.forget("b")
        owner.send(said(b, 1))
        await owner.settled(7)
        assert not owner.got
        assert owner.channel.dropped == {"forged": 3, "stranger": 2, "size": 2}

    run(test)


def test_a_member_that_runs_already_brings_its_secret() -> None:
    async def test(owner: Owner) -> None:
        a = owner.channel.expect("a", "a secret that it has")
        assert a.token == "a secret that it has"
        with pytest.raises(UsageError, match="16 characters at least"):
            owner.channel.expect("a", "short")

    run(test)


def test_with_a_lossy_network_the_table_has_the_youngest_report_that_came() -> None:
    async def test(owner: Owner) -> None:
        members, rng, now_s = MemberTable(), random.Random(3), 0.0
        owner.channel._take = lambda name, report: members.report(name, report, now_s)
        names = [f"m{number}" for number in range(5)]
        targets = [owner.channel.expect(name) for name in names]
        for name in names:
            members.join(Member(name, COST, 2048, 1e5))
        under_way: list[tuple[int, str, tuple[int, int], bytes]] = []  # by when it arrives
        youngest = dict.fromkeys(names, (0, 0))
        incarnations, sequences, num_sent = dict.fromkeys(names, 1), dict.fromkeys(names, 0), 0
        for tick in range(400):
            for target in targets:
                name = target.name
                if rng.random() < 0.01:
                    incarnations[name], sequences[name] = incarnations[name] + 1, 0
                sequences[name] += 1
                age = incarnations[name], sequences[name]
                datagram = said(target, age[1], age[0], num_running=age[0], prompt_tokens=float(age[1]))
                for _ in range(rng.choice([0, 1, 1, 1, 2])):  # lost, or doubled
                    under_way.append((tick + rng.randint(0, 9), name, age, datagram))
            now = [each for each in under_way if each[0] == tick]
            under_way = [each for each in under_way if each[0] > tick]
            owner.send(*[each[3] for each in now])
            num_sent += len(now)
            await owner.settled(num_sent)
            for _, name, age, _ in now:
                youngest[name] = max(youngest[name], age)
            for name in names:
                row = members.row(name)
                assert (members["num_running"][row], members["prompt_tokens"][row]) == youngest[name]
        assert owner.channel.dropped["old"] > 100
        assert set(owner.channel.dropped) == {"old"}

    run(test)


def test_a_report_that_is_not_taken_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def test(owner: Owner) -> None:
        def fail(name: str, report: Report) -> None:
            if report.sequence == 1:
                raise ValueError("no room")
            owner.got.append((name, report))

        owner.channel._take = fail
        a = owner.channel.expect("a")
        owner.send(said(a, 1), said(a, 2))
        await owner.settled(3)
        assert [report.sequence for _, report in owner.got] == [2]
        assert owner.channel.dropped == {"failed": 1}

    run(test)
    assert "no room" in caplog.text


def test_a_flood_of_garbage_does_not_keep_a_member_out() -> None:
    async def test(owner: Owner) -> None:
        a, rng = owner.channel.expect("a"), random.Random(1)
        for number in range(1, 201):
            owner.send(*[rng.randbytes(rng.randint(0, 2 * MAX_BYTES)) for _ in range(10)], said(a, number))
            await owner.settled(11 * number)
        assert len(owner.got) == 200

    run(test)


def test_it_listens_as_long_as_there_is_somebody_to_listen_to() -> None:
    async def lives() -> list[bool]:
        channel = StateChannel(print)
        found = [channel.is_open]
        one, other = await asyncio.gather(channel.admit("a"), channel.admit("b"))
        assert one.address == other.address
        found.append(channel.is_open)
        channel.forget("a")
        found.append(channel.is_open)
        channel.forget("b")
        found.append(channel.is_open)
        await channel.admit("a")
        found.append(channel.is_open)
        channel.forget("a")
        return found

    assert asyncio.run(lives()) == [False, True, True, False, True]


def test_a_port_that_is_taken_is_an_error_that_says_so() -> None:
    async def test(owner: Owner) -> None:
        port = int(owner.channel.address.rpartition(":")[2])
        with pytest.raises(EngineError, match=f"cannot listen at 127.0.0.1, port {port}"):
            await StateChannel(print).open(port=port)

    run(test)


def test_members_elsewhere_are_told_the_host_by_which_they_reach_it() -> None:
    async def seen() -> tuple[str, str]:
        channel = StateChannel(print)
        with pytest.raises(EngineError, match="not open"):
            channel.expect("a")
        await channel.open(seen_as="fd00::7")
        found = channel.expect("a")
        channel.close()
        return found.address, found.host_and_port[0]

    address, host = asyncio.run(seen())
    assert address.startswith("[fd00::7]:")
    assert host == "fd00::7"
