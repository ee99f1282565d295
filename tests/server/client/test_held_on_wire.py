"""What a client's session keeps in the memory that all clients share has limits."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "text",
    ["SET VARIABLE v = repeat('x', 2000)", f"PREPARE p AS SELECT '{'x' * 2000}'"],
    ids=["variable", "prepared"],
)
def test_a_session_that_holds_too_much_is_ended(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("relserve.server.client.executor.MOST_HELD", 1000)
    server = serve()
    con, other = connect(server, autocommit=True), connect(server)
    con.execute("SET VARIABLE v = 1")
    with pytest.raises(psycopg.OperationalError, match="keep rows in a temporary table") as raised:
        con.execute(text)
    assert raised.value.sqlstate == "53400"
    with pytest.raises(psycopg.OperationalError):
        con.execute("SELECT 1")
    assert other.execute("SELECT 1").fetchone() == (1,)


def test_statements_of_messages_and_settings_have_so_many_characters(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relserve.server.client.portals.MOST_PREPARED", 4000)
    monkeypatch.setattr("relserve.server.client.variables.MOST_CHARS", 1000)
    con = connect(serve(), autocommit=True)
    for size in (600, 601):
        con.execute(f"SELECT '{'x' * size}'", prepare=True)
    with pytest.raises(psycopg.Error, match="close some") as raised:
        con.execute(f"SELECT '{'y' * 600}'", prepare=True)
    assert raised.value.sqlstate == "53400"
    con.execute("DEALLOCATE ALL")
    con.execute(f"SELECT '{'z' * 600}'", prepare=True)
    con.execute(f"SET a.b = '{'x' * 600}'")
    con.execute(f"SET a.b = '{'y' * 600}'")  # in place of the one before
    with pytest.raises(psycopg.Error, match="at most 1,000 characters"):
        con.execute(f"SET a.c = '{'x' * 600}'")
    con.execute("SET a.c = 'x'")
