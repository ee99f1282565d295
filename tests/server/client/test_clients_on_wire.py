"""Clients beside each other: cancelled, terminated, shown, ended, too many."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.client import copying, transaction
from relserve.server.client.transaction import BEGIN
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S, wait_until

LONG = "SELECT count(*) FROM range(1000000000000000000) t(x) WHERE hash(x) % 7 = 1"


def in_background(con: psycopg.Connection, text: str) -> tuple[threading.Thread, list[BaseException]]:
    """Run a statement on a thread of its own."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            if text.startswith("COPY"):
                with con.cursor().copy(text) as copy:
                    copy.write("1\n")
            else:
                con.execute(text)
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, errors


def is_ended_by(cancel: Callable[[], None], thread: threading.Thread) -> bool:
    """Cancel; whether the statement of that thread ends soon."""
    cancel()
    thread.join(0.3)
    return not thread.is_alive()


def test_a_cancelled_statement_ends_at_once(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    thread, errors = in_background(con, LONG)
    wait_until(lambda: is_ended_by(con.cancel_safe, thread))  # the first one may come before the statement
    assert isinstance(errors[0], psycopg.errors.QueryCanceled)
    con.rollback()
    assert con.execute("SELECT 1").fetchone() == (1,)


class LongBegin(dict[bool, str]):
    """A BEGIN that lasts until it is cancelled."""

    def __init__(self, text: dict[bool, str]) -> None:
        super().__init__(text)
        self.has_begun = threading.Event()

    def __getitem__(self, is_read_only: bool) -> str:
        self.has_begun.set()
        return super().__getitem__(is_read_only)


@pytest.mark.cells(2)
@pytest.mark.parametrize("text", ["SELECT 1", "COPY t FROM STDIN"])
def test_a_begin_that_is_cancelled_begins_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """DuckDB is in a transaction then that has failed, and every further statement of the client would."""
    con = connect(serve(), cursor_factory=psycopg.ClientCursor, autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    con.autocommit = text == "COPY t FROM STDIN"
    with monkeypatch.context() as patch:
        begin = LongBegin({False: f"{BEGIN[False]}; {LONG}"})
        patch.setattr(transaction, "BEGIN", begin)
        patch.setattr(copying, "BEGIN", begin)
        thread, errors = in_background(con, text)
        assert begin.has_begun.wait(PATIENCE_S)
        wait_until(lambda: is_ended_by(con.cancel_safe, thread))
    assert isinstance(errors[0], psycopg.errors.QueryCanceled)
    assert con.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_cancelling_an_llm_query_frees_the_engine(serve: Serve) -> None:
    engine = ScriptedEngine(pause_s=0.05, chunk=1)
    con = connect(serve(engine), cursor_factory=psycopg.ClientCursor)
    thread, errors = in_background(con, "SELECT llm('Say {}', range) FROM range(10000)")
    wait_until(lambda: engine.num_answered > 2)
    con.cancel_safe()
    thread.join(PATIENCE_S)
    assert isinstance(errors[0], psycopg.errors.QueryCanceled)
    wait_until(lambda: engine.aborted > 0)  # the client may hear of it just before
    answered = engine.num_answered
    time.sleep(0.3)
    assert engine.num_answered == answered


def test_a_client_that_leaves_stops_its_statement(serve: Serve) -> None:
    engine = ScriptedEngine(pause_s=0.05, chunk=1)
    con = connect(serve(engine), cursor_factory=psycopg.ClientCursor)
    in_background(con, "SELECT llm('Say {}', range) FROM range(10000)")
    wait_until(lambda: engine.num_answered > 2)
    con.close()
    wait_until(lambda: engine.aborted > 0)
    answered = engine.num_answered
    time.sleep(0.3)
    assert engine.num_answered == answered


def test_a_long_llm_query_blocks_nobody(serve: Serve) -> None:
    server = serve(ScriptedEngine(pause_s=0.05, chunk=1))
    slow = connect(server, cursor_factory=psycopg.ClientCursor)
    thread, _ = in_background(slow, "SELECT llm('Say {}', range) FROM range(10000)")
    quick = connect(server, cursor_factory=psycopg.ClientCursor)
    for _ in range(20):
        assert quick.execute("SELECT 1").fetchone() == (1,)
    assert thread.is_alive()
    slow.cancel_safe()
    thread.join(PATIENCE_S)


def test_statement_timeout(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        con.execute(LONG)
    con.execute("RESET statement_timeout")
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_idle_clients_are_hung_up_on(serve: Serve) -> None:
    con = connect(serve(idle_timeout_s=0.2), autocommit=True)
    assert select.select([con], [], [], PATIENCE_S)[0], "nothing came"
    with pytest.raises(psycopg.errors.IdleSessionTimeout):
        con.execute("SELECT 1")


@pytest.mark.long
def test_only_so_many_clients(serve: Serve) -> None:
    server = serve(max_connections=2)
    kept = [connect(server), connect(server)]
    with pytest.raises(psycopg.OperationalError, match="too many clients"):
        connect(server)
    kept.pop().close()
    wait_until(lambda: len(server.clients()) == 1)
    connect(server)


@pytest.mark.long
def test_another_database_is_refused(serve: Serve, tmp_path: Path) -> None:
    server = serve(database=tmp_path / "shop.db")
    with pytest.raises(psycopg.OperationalError, match='"memory" does not exist'):
        connect(server, dbname="memory")
    for name in ("shop", "ann", "postgres"):
        con = connect(server, dbname=name)
        assert con.execute("SELECT current_database()").fetchone() == ("shop",)


def test_the_end_tells_clients(serve: Serve) -> None:
    server = serve()
    con = connect(server, cursor_factory=psycopg.ClientCursor)
    thread, errors = in_background(con, LONG)
    time.sleep(0.3)
    server.stop()
    thread.join(PATIENCE_S)
    assert isinstance(errors[0], psycopg.OperationalError)


def test_notices_tell_of_failed_rows(serve: Serve) -> None:
    from relserve.errors import Failure, FailureKind

    engine = ScriptedEngine(lambda prompt, _: Failure(FailureKind.REFUSED, "no") if "3" in prompt else "yes")
    con = connect(serve(engine), cursor_factory=psycopg.ClientCursor)
    heard: list[str] = []
    con.add_notice_handler(lambda notice: heard.append(f"{notice.severity}: {notice.message_primary}"))
    rows = con.execute("SELECT llm('Say {}', range) FROM range(5)").fetchall()
    assert [row[0] for row in rows] == ["yes", "yes", "yes", None, "yes"]
    assert any("WARNING" in each and "1 of 5" in each for each in heard), heard
    (error,) = con.execute("SELECT kind, rows FROM llm_errors()").fetchall()
    assert error == ("refused", 1)


def test_users_see_only_their_own_queries(serve: Serve) -> None:
    server = serve()
    ann, bob = connect(server, cursor_factory=psycopg.ClientCursor), connect(server, user="bob")
    ann.execute("SELECT llm('Say {}', 1)")
    assert ann.execute("SELECT count(*) FROM llm_queries()").fetchone() == (1,)
    assert [user for user, _ in server.queries()] == ["ann"]
    bob.close()
