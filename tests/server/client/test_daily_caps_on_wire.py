"""A user's rows of a day, over their connections and over a restart of the server."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.server.client.conftest import Serve, connect

ASKED = "SELECT llm('Say {}', i) FROM range(%d) t(i)"


def test_rows_of_a_day_are_of_all_connections_and_outlast_the_server(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RELSERVE_KEEP_LEARNT")
    verifier = make_verifier("secret")
    users = Users(tmp_path / "users.json", [
        User("ann", verifier, rows_per_day=10), User("bob", verifier), User("root", verifier, is_admin=True),
    ])  # fmt: skip
    users.save()
    for number in range(2):
        engine = ScriptedEngine()
        server = serve(engine, users=users.path)
        for _ in range(2):
            with connect(server, user="ann", password="secret", autocommit=True) as con:
                if number == 0:
                    con.execute(ASKED % 5)
                else:
                    with pytest.raises(psycopg.Error, match="user ann today is max_rows := 10") as error:
                        con.execute(ASKED % 1)
                    assert error.value.sqlstate == "53400"
        assert engine.num_prompts == (10 if number == 0 else 0)
    for name, expected in (("bob", []), ("ann", [("ann", 10)]), ("root", [("ann", 10)])):
        with connect(server, user=name, password="secret", autocommit=True) as con:
            found = con.execute('SELECT "user", requests FROM llm_usage()').fetchall()
            assert found == expected
