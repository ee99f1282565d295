"""What a server keeps of a user's answers and prompts, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.server import Server
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.server.client.conftest import Serve, connect

Start = Callable[..., tuple[Server, ScriptedEngine]]
ASKED = "SELECT llm('Say {}', i) FROM range(3) t(i)"


@pytest.fixture
def start(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts servers of ann and bob that keep answers on disk."""
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "16")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    users = Users(tmp_path / "users.json", [User(name, make_verifier("secret")) for name in ("ann", "bob")])
    users.save()

    def start(**options: object) -> tuple[Server, ScriptedEngine]:
        engine = ScriptedEngine(identity="the model")
        return serve(engine, **{"users": users.path, **options}), engine

    return start


def num_kept(server: Server, user: str, text: str = ASKED) -> int:
    """How many of the answers to a text were kept ones."""
    with connect(server, user=user, password="secret", autocommit=True) as con:
        con.execute(text)
        ((found,),) = con.execute("SELECT arg_max(cached_answers, statement) FROM llm_queries()").fetchall()
    return int(found)


def test_users_share_no_answers_and_no_prompts(start: Start) -> None:
    server, engine = start()
    assert [num_kept(server, user) for user in ("ann", "bob", "ann", "bob")] == [0, 0, 3, 3]
    salts = [submission.cache_salt for submission in engine.submissions]
    assert len({*salts}) == len(salts) == 2
    assert None not in salts


def test_explain_tells_nothing_of_others_answers(start: Start) -> None:
    server, _ = start()
    num_kept(server, "ann")
    plans = {}
    for user in ("ann", "bob"):
        with connect(server, user=user, password="secret", autocommit=True) as con:
            plans[user] = str(con.execute(f"EXPLAIN {ASKED}").fetchall())
    assert plans["ann"] != plans["bob"]


def test_what_a_user_asked_is_kept_for_the_next_server(start: Start) -> None:
    assert num_kept(start()[0], "ann") == 0
    server, _ = start()
    assert (num_kept(server, "bob"), num_kept(server, "ann")) == (0, 3)


@pytest.mark.long
def test_questions_are_each_users_own(start: Start) -> None:
    server, engine = start()
    asked = "SELECT text2sql_query('How many?')"
    with connect(server, user="ann", password="secret", autocommit=True) as con:
        con.execute("CREATE TABLE beers AS SELECT 1 AS id")
    for user in ("ann", "bob"):
        with connect(server, user=user, password="secret", autocommit=True) as con:
            con.execute(asked)
    salts = [submission.cache_salt for submission in engine.submissions]
    assert len({*salts}) == 2
    assert None not in salts


@pytest.mark.cells(1)
@pytest.mark.parametrize("options", [{"share_cache": True}, {"users": None}])
def test_one_team_shares_them(start: Start, options: dict[str, object]) -> None:
    server, engine = start(**options)
    assert [num_kept(server, user) for user in ("ann", "bob")] == [0, 3]
    assert [submission.cache_salt for submission in engine.submissions] == [None]
