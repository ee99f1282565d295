"""A call's deadline where the server is slow to tell which models it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from http_fakes import Answered, FakeServer, said
from relserve_duckdb import Connection

from relserve.api import connect
from relserve.engines.http.engine import HttpEngine
from relserve.errors import RowError, RowsFailedWarning, Text2SqlError

PAUSE_S, LATE_S = (
    25.0,
    15.0,
)  # of the list; what a call with a deadline of a second stays under on any machine
SQL = "SELECT llm('{{}}', i::VARCHAR, deadline := {}) FROM range(3) t(i) ORDER BY i"


async def echo(body: dict[str, Any]) -> Answered:
    return said(body["messages"][-1]["content"])


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Connection]]:
    """connected(server, **options): a connection that asks it, with an answer cache of its own."""
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    opened: list[Connection] = []

    def open_(server: FakeServer, **options: Any) -> Connection:
        opened.append(connect(engine=HttpEngine(server.url), progress=False, **options))
        return opened[-1]

    yield open_
    for con in opened:
        con.close()


def rows_and_seconds(con: Connection, sql: str) -> tuple[list[Any], float]:
    began_s = time.monotonic()
    return [row[0] for row in con.execute(sql).fetchall()], time.monotonic() - began_s


@pytest.mark.cells(1)
@pytest.mark.parametrize("cache", [True, False])
def test_rows_are_late_where_the_list_is(
    fake: Callable[..., FakeServer], connected: Callable[..., Connection], cache: bool
) -> None:
    con = connected(fake(echo, models_pause_s=PAUSE_S), cache=cache)
    with pytest.warns(RowsFailedWarning, match="3 of 3 rows failed and are NULL: 3 past the deadline"):
        rows, seconds = rows_and_seconds(con, SQL.format("'1 s'"))
    assert rows == [None] * 3
    assert 1 <= seconds < LATE_S
    found = con.execute("SELECT kind, message, count(*) FROM llm_errors() GROUP BY ALL").fetchall()
    assert found == [("deadline", "the deadline passed before the answer came", 3)]


@pytest.mark.long
def test_a_server_that_was_known_is_not_waited_for_either(
    fake: Callable[..., FakeServer], connected: Callable[..., Connection]
) -> None:
    server = fake(echo)
    con = connected(server)
    assert rows_and_seconds(con, SQL.format("'60 s'"))[0] == ["0", "1", "2"]
    server.models_pause_s = PAUSE_S
    with pytest.warns(RowsFailedWarning, match="past the deadline"):
        rows, seconds = rows_and_seconds(con, SQL.replace("i::VARCHAR", "(i + 10)::VARCHAR").format(1))
    assert rows == [None] * 3
    assert seconds < LATE_S
    server.models_pause_s = 0.0
    asked = len(server.requests)
    assert rows_and_seconds(con, SQL.format("'60 s'"))[0] == ["0", "1", "2"]
    assert len(server.requests) == asked  # the answers were kept


@pytest.mark.long
def test_answers_that_came_stand_though_nothing_confirms_the_model(
    fake: Callable[..., FakeServer], connected: Callable[..., Connection]
) -> None:
    async def then_slow(body: dict[str, Any]) -> Answered:
        server.models_pause_s = PAUSE_S if len(server.requests) <= 3 else 0.0  # of the first query
        return await echo(body)

    server = fake(then_slow)
    con = connected(server)
    rows, seconds = rows_and_seconds(con, SQL.format(2))
    assert rows == ["0", "1", "2"]
    assert seconds < LATE_S
    server.models_pause_s = 0.0
    assert rows_and_seconds(con, SQL.format(60))[0] == ["0", "1", "2"]
    assert len(server.requests) == 6  # they were not kept: by then it could have been another model


@pytest.mark.long
def test_late_can_be_an_error_and_a_connections_deadline_holds(
    fake: Callable[..., FakeServer], connected: Callable[..., Connection]
) -> None:
    con = connected(fake(echo, models_pause_s=PAUSE_S), deadline=1)
    began_s = time.monotonic()
    with pytest.raises(RowError, match="the deadline passed before the answer came"):
        con.execute("SELECT llm('{}', 'a', on_error := 'raise')").fetchall()
    assert time.monotonic() - began_s < LATE_S


@pytest.mark.long
def test_a_question_is_late_where_the_list_is(
    fake: Callable[..., FakeServer], connected: Callable[..., Connection]
) -> None:
    con = connected(fake(echo, models_pause_s=PAUSE_S))
    con.execute("CREATE TABLE beers AS SELECT 'IPA' AS style")
    began_s = time.monotonic()
    with pytest.raises(Text2SqlError, match="the deadline of 1 seconds passed"):
        con.text2sql("How many beers are there?", deadline=1)
    assert time.monotonic() - began_s < LATE_S
    (row,) = con.execute("SELECT met, slack FROM llm_workflows()").fetchall()
    assert row[0] is False
    assert row[1] < 0
