"""What interrupts a statement that has ended does not fail the next one of the transaction."""

from __future__ import annotations

import threading

import psycopg
import pytest

from relserve.server.client.state import ClientState
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("text", ["SELECT count(*) FROM pg_cursors", "SELECT count(llm('x')) WHERE 1 = 2"])
@pytest.mark.parametrize("rows", ["SELECT 1", "FROM range(100000)"])
def test_rows_that_nobody_read_are_closed(serve: Serve, rows: str, text: str) -> None:
    con = connect(serve())
    con.execute(f"DECLARE foo CURSOR FOR {rows}")
    con.execute("CLOSE foo")
    assert con.execute(text).fetchone() == (0,)


def test_a_cancel_that_comes_too_late(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    con = connect(serve())
    con.execute("SELECT 1")
    finished = ClientState.finished

    def cancelled_and_finished(state: ClientState) -> None:
        is_done = threading.Event()
        state._loop.call_soon_threadsafe(lambda: (state.cancel(), is_done.set()))
        assert is_done.wait(PATIENCE_S)
        finished(state)

    with monkeypatch.context() as patched:
        patched.setattr(ClientState, "finished", cancelled_and_finished)
        con.execute("SELECT 2")
    assert con.execute("SELECT count(*) FROM pg_class WHERE relname = 'none'").fetchone() == (0,)
    assert con.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
