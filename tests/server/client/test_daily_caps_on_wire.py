"""A user's rows of a day, those in batches too, over their connections and over a restart of the server."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from relserve.engines.batch.engine import BatchEngine
from relserve.engines.http.engine import HttpEngine
from relserve.engines.scripted import ScriptedEngine
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.engines.batch.batch_server import BatchServer, serving
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


@pytest.mark.long
def test_rows_in_batches_count_when_they_are_sent_and_are_taken_for_nothing(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RELSERVE_KEEP_LEARNT")
    users = Users(tmp_path / "users.json", [User("ann", make_verifier("secret"), rows_per_day=30)])
    users.save()
    with serving(BatchServer()) as models:
        for restarted in (False, True):
            engine = BatchEngine(HttpEngine(models.url), tmp_path / "cache")
            server = serve(engine, users=users.path)
            for number in range(4):
                with connect(server, user="ann", password="secret", autocommit=True) as con:
                    if number == 0:
                        rows = con.execute(ASKED % 30).fetchall()
                        assert rows.count((None,)) == (0 if restarted else 29)
                        continue
                    with pytest.raises(psycopg.Error, match=r"after 30 rows before; .*ann today is max_rows"):
                        con.execute((ASKED % 30).replace("Say", f"Sing {number}"))
            models.end_batches()
        assert sum(models.answered.values()) == 30
