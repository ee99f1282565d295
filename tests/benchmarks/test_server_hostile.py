"""The hostile benchmark sees what it looks for: a server that leaks, hangs or dies does not pass it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.hostile import garbage, generated, statements
from benchmarks.hostile.attempts import Attempts
from benchmarks.hostile.eye import Eye
from benchmarks.hostile.house import MARKER, AttackedServer, watched
from benchmarks.hostile.outcome import HostileOutcome
from benchmarks.hostile.wire import RawClient


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A running server, which the last test kills and starts again."""
    house = AttackedServer(tmp_path_factory.mktemp("house"))
    house.start()
    yield house
    if house.is_up:
        house.kill()


@pytest.mark.engine_of_its_own
def test_a_statement_that_runs_is_seen(house: AttackedServer) -> None:
    outcome = HostileOutcome("")
    statements.expect_refusal(house, "SELECT 1 && SELECT 2", psycopg.ClientCursor, outcome)
    assert (outcome.leaked, outcome.crashed, outcome.hung) == (1, 0, 0)
    statements.expect_refusal(house, "SELECT 1 && FROM read_text('/etc/passwd')", psycopg.Cursor, outcome)
    assert outcome.leaked == 1


@pytest.mark.engine_of_its_own
def test_a_secret_in_an_answer_is_seen(house: AttackedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "SHOWS_NOTHING", [f"SELECT '{MARKER}'", "SELECT 1"])
    assert statements.looks_around(house).leaked == 1


@pytest.mark.engine_of_its_own
def test_what_a_generated_text_got_done_is_seen(
    house: AttackedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An admin may do it all: as one the texts get everything done that they are made for."""
    eye, outcome = Eye(house), HostileOutcome("")
    texts = [
        "CREATE TABLE x (a VARCHAR DEFAULT llm('Say {}', 'x'))",
        'CREATE MACRO "SUM"(a, b) AS 42',
        "CREATE VIEW y AS SELECT current_query()",
        f"SELECT '{MARKER[:9]}' || '{MARKER[9:]}'",
    ]
    assert Attempts(house, eye, outcome).send(texts).escaped == 0
    assert outcome.leaked == 1
    as_user = RawClient.login
    monkeypatch.setattr(RawClient, "login", lambda client: as_user(client, "root"))
    Attempts(house, eye, outcome).send(texts)
    assert outcome.escaped >= 3
    assert outcome.cases == 8
    assert eye.found() == []
    (house.folder / "out.csv").write_text("")
    assert [found.said for found in eye.found()] == ["file out.csv ''"]
    (house.folder / "out.csv").unlink()


@pytest.mark.engine_of_its_own
def test_a_few_texts_of_each_generated_kind_get_nothing_done(house: AttackedServer) -> None:
    eye = Eye(house)
    kinds = (generated.made_up, generated.unicode, generated.growing, generated.names, generated.columns)
    for make in kinds:
        outcome = make(house, eye, 15, 8)
        assert (outcome.cases, outcome.said) == (15, [])


@pytest.mark.engine_of_its_own
def test_a_server_that_dies_is_seen_and_what_was_committed_before_is_there(house: AttackedServer) -> None:
    with house.connect("root") as con:
        con.execute("CREATE TABLE kept AS SELECT 1 AS a")
    with watched(house) as bystander:
        assert garbage.before_login(house, 40, 1).hung == 0
        assert garbage.after_login(house, 40, 1).crashed == 0
        house.kill()
        bystander.join(60)  # it ends where its connection breaks, if it is not told to end before
    assert bystander.count > 0
    assert bystander.wrong
    house.start()
    with house.connect("ann") as con:
        assert con.execute("SELECT a FROM kept").fetchall() == [(1,)]
    assert house.stop() == 0, house.log.read_text(errors="replace")[-2000:]
