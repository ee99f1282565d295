"""Clients that keep the server waiting, or send and ask for too much, or guess passwords."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

from benchmarks.hostile.house import AttackedServer
from benchmarks.hostile.outcome import PATIENCE_S, HostileOutcome
from benchmarks.hostile.wire import RawClient, message, startup
from relserve.server.users.tries import OF_ADDRESS, OF_KNOWN

LOGIN_S = 30.0  # in which the server wants to know who a client is
SLOW_MB = 400.0  # that slow readers of large results may cost the server together
BIG = 100_000_000
BUDGETS = (OF_ADDRESS, OF_KNOWN, OF_KNOWN)  # of nobody, and of ann and root, who are known here


def half_open(house: AttackedServer, count: int, waits: bool) -> HostileOutcome:
    """Sockets over which nothing comes, or half of a login; the server hangs up after a while.

    Args:
        waits: for that, which takes half a minute.
    """
    outcome = HostileOutcome("half-open sockets", count)
    clients = []
    for number in range(count):
        client = RawClient(house, tls=number % 2 == 0)
        client.send((b"", b"\0", startup(user="ann")[:9], startup(user="ann"))[number % 4])
        clients.append(client)
    began = time.monotonic()
    with house.connect("ann") as con:
        con.execute("SELECT 1")
    outcome.longest_s = time.monotonic() - began
    deadline = time.monotonic() + (LOGIN_S + 5 if waits else 0)
    for client in clients:
        if waits:
            client.socket.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                client.rest()
            except TimeoutError:
                outcome.tell("hung", "a socket that says nothing is kept for longer than half a minute")
        client.close()
    return outcome


def slow_readers(house: AttackedServer, count: int, seconds: float) -> HostileOutcome:
    """Clients that ask for millions of rows and read a few bytes a second, and then go."""
    outcome = HostileOutcome("slow readers", count)
    before = house.rss_mb()
    clients = []
    for _ in range(count):
        client = RawClient(house)
        client.login()
        client.send(message(b"Q", b"SELECT range, repeat('x', 1000) FROM range(5000000)\0"))
        clients.append(client)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for client in clients:
            client.socket.recv(10)
        time.sleep(0.1)
    grown = house.rss_mb() - before
    if grown > SLOW_MB:
        outcome.tell("hung", f"{count} slow readers cost {grown:.0f} MB")
    for client in clients:
        client.reset()
    _expect_no_clients(house, outcome)
    return outcome


def big_strings(house: AttackedServer) -> HostileOutcome:
    """100 MB in a literal, in a parameter, in a row of COPY, and in an answer."""
    outcome = HostileOutcome("strings of 100 MB")
    big = "x" * BIG
    for what in (_literal, _parameter, _copied, _answer, _many_words):
        outcome.cases += 1
        began = time.monotonic()
        try:
            with house.connect("mallory") as con:
                what(con, big)
        except psycopg.Error as error:
            if error.sqlstate is None:
                outcome.tell("crashed", f"{what.__name__}: {error}")
        if time.monotonic() - began > 6 * PATIENCE_S:
            outcome.tell("hung", f"{what.__name__} took {time.monotonic() - began:.0f} s")
    return outcome


def _literal(con: psycopg.Connection[object], big: str) -> None:
    assert con.execute(f"SELECT length('{big}')").fetchone() == (BIG,)


def _parameter(con: psycopg.Connection[object], big: str) -> None:
    assert psycopg.Cursor(con).execute("SELECT length(%s::VARCHAR)", (big,)).fetchone() == (BIG,)


def _copied(con: psycopg.Connection[object], big: str) -> None:
    con.execute("CREATE TEMP TABLE big (text VARCHAR)")
    with con.cursor().copy("COPY big FROM STDIN") as copy:
        copy.write_row([big])
    assert con.execute("SELECT length(text) FROM big").fetchone() == (BIG,)


def _answer(con: psycopg.Connection[object], big: str) -> None:
    assert con.execute(f"SELECT repeat('x', {BIG})").fetchone() == (big,)


def _many_words(con: psycopg.Connection[object], big: str) -> None:
    """A text of many short words, which takes a parser longest."""
    numbers = ",".join(map(str, range(1_000_000)))
    assert con.execute(f"SELECT 7 IN ({numbers})").fetchone() == (True,)


def passwords(house: AttackedServer, threads: int, tries: int) -> HostileOutcome:
    """Wrong passwords from many sockets at once: none gets in, few are looked at, a right one works soon."""
    outcome = HostileOutcome("wrong passwords at speed", threads * tries)
    looked_at: list[str] = []
    began = time.monotonic()

    def guess(number: int) -> None:
        for i in range(tries):
            user = ("ann", "root", "nobody")[(number + i) % 3]
            try:
                house.connect(user, f"guess {i}").close()
            except psycopg.OperationalError as error:
                if "password authentication failed" in str(error):
                    looked_at.append(user)
                elif "too many wrong passwords" not in str(error):
                    outcome.tell("hung", f"{user}: {error}")
            else:
                outcome.tell("leaked", f"{user} got in with a wrong password")

    _in_threads(guess, threads)
    most = sum(budget.most + (time.monotonic() - began) / budget.every_s for budget in BUDGETS)
    if len(looked_at) > most:
        outcome.tell("leaked", f"{len(looked_at)} wrong passwords were looked at, and {most:.0f} may be")
    outcome.longest_s = max(_seconds_of_login(house, user) for user in ("ann", "root"))
    return outcome


def _seconds_of_login(house: AttackedServer, user: str) -> float:
    """With the right password, once it is looked at again."""
    while True:
        began = time.monotonic()
        try:
            house.connect(user).close()
            return time.monotonic() - began
        except psycopg.OperationalError as error:
            if "too many wrong passwords" not in str(error):
                raise
            time.sleep(1.0)


def _in_threads(run: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _expect_no_clients(house: AttackedServer, outcome: HostileOutcome) -> None:
    """All who went are forgotten soon, but for the bystander."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := house.num_clients()) > 1:
        if time.monotonic() > deadline:
            outcome.tell("hung", f"{left - 1} clients that have gone are still served")
            return
        time.sleep(0.2)
