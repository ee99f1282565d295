"""Cursors for somebody else: their own session and client on the same database."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from guests import Guest
from relserve_duckdb import Connection, attach
from sql_fixtures import Made

from relserve.engines.scripted import ScriptedEngine
from relserve.session.session import Session


def session_of(name: str) -> Session:
    """A session whose engine answers everything with a name."""
    engine = ScriptedEngine(script=lambda prompt, submission: name)
    return Session(lambda model: engine)


@pytest.fixture
def clients() -> tuple[Guest, Guest]:
    return Guest(), Guest()


@pytest.fixture
def guests(made: Made, clients: tuple[Guest, Guest]) -> Iterator[tuple[Connection, Connection]]:
    """Cursors of two guests on one database."""
    with (
        made.con.cursor_for(session_of("ann"), clients[0]) as ann,
        made.con.cursor_for(session_of("bob"), clients[1]) as bob,
    ):
        yield ann, bob


def test_each_asks_its_own_session_and_sees_its_own_history(
    made: Made, guests: tuple[Connection, Connection]
) -> None:
    for guest, name in zip(guests, ("ann", "bob"), strict=True):
        assert guest.execute("SELECT llm('{}', id) FROM u LIMIT 1").fetchall() == [(name,)]
    made.rows("SELECT llm('{}', id) FROM u")
    for guest in guests:
        assert guest.execute("SELECT count(*), max(model) FROM llm_queries()").fetchone() == (1, "scripted")
    assert made.rows("SELECT count(*) FROM llm_queries()") == [(1,)]


def test_the_clients_are_told_what_is_theirs(
    guests: tuple[Connection, Connection], clients: tuple[Guest, Guest]
) -> None:
    guests[0].execute("SELECT llm('constant') FROM u").fetchall()
    assert [client.warned for client in clients] == [1, 0]
    guests[1].cursor().execute("SELECT llm('constant') FROM u").fetchall()
    assert [client.warned for client in clients] == [1, 1]


def test_a_guest_names_no_variable_of_ours(guests: tuple[Connection, Connection]) -> None:
    for name in ("guests", "function", "args", "partial", "_CALL"):
        for run in (guests[0].execute, guests[0].sql):
            with pytest.raises(duckdb.CatalogException, match=f"{name} does not exist"):
                run(f"SELECT llm('{{}}', a) FROM {name}")


def test_attach_takes_a_client() -> None:
    guest = Guest()
    with attach(duckdb.connect(), session_of("ann"), client=guest) as con:
        assert con.execute("SELECT llm('constant') FROM range(2)").fetchall() == [("ann",)] * 2
    assert guest.warned == 1
