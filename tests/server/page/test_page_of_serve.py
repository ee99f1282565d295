"""`relserve serve --http`: what real clients do is on the page of a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from relserve.server.users.users import Users
from tests.forked import run_command
from tests.server.page.page_facts import get
from tests.waiting import PATIENCE_S, wait_until

COMMAND = [sys.executable, "-m", "relserve", "serve", "--model", "scripted", "--examples", "--port", "0"]
ASK = "SELECT count(llm_filter('Good? {r}', review)) FROM reviews"


class Running(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    page: str

    def connect(self, user: str, application: str) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=user, dbname="memory", application_name=application,
            autocommit=True,
        )  # fmt: skip

    def status(self) -> dict[str, Any]:
        code, _, text = get(f"{self.page}api/status", Authorization="Bearer secret")
        assert code == 200
        return json.loads(text)

    def metrics(self) -> str:
        return get(f"{self.page}metrics", Authorization="Bearer secret")[2]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("page")
    environ = {**os.environ, "RELSERVE_HTTP_TOKEN": "secret", "RELSERVE_CACHE_DIR": str(folder)}
    process = subprocess.Popen([*COMMAND, "--http", "0"], env=environ, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    at = r"^[-0-9]{10} [:0-9]{8} relserve: the page is at (\S+)\n.* is served on [^ ]+:(\d+)"
    while not (found := re.search(at, said, re.DOTALL | re.MULTILINE)):
        line = process.stderr.readline()
        assert line, said
        said += line
    watchdog.cancel()
    yield Running(process, int(found[2]), found[1])
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert r'database "nowhere\x1b[2J\u202e" does not exist' in rest
    assert "\x1b" not in rest


def test_what_clients_do_is_shown(running: Running) -> None:
    with running.connect("ann", "psql") as ann, running.connect("bob", "Metabase") as bob:
        assert ann.execute(ASK).fetchall()
        with pytest.raises(psycopg.Error):
            bob.execute("SELECT * FROM nowhere")
        with pytest.raises(psycopg.Error):  # in the extended protocol, before it runs
            bob.execute("SELECT * FROM nowhere", prepare=True)
        bob.execute("BEGIN")
        wait_until(lambda: running.status()["now"]["errors"] == 2)  # it looks twice a second at most
        shown = running.status()
    assert {(each["user"], each["application"], each["state"]) for each in shown["clients"]} == {
        ("ann", "psql", "idle"), ("bob", "Metabase", "idle in transaction"),
    }  # fmt: skip
    rel = next(each for each in shown["relqueries"] if each["user"] == "ann")
    assert (rel["function"], rel["template"], rel["state"]) == ("llm_filter", "Good? {r}", "done")
    assert rel["rows"] == rel["done"] == 300
    assert shown["now"]["statements"] >= 3
    wait_until(lambda: running.status()["now"]["clients"] == 0)


def test_the_metrics_agree(running: Running) -> None:
    with running.connect("carl", "R") as carl:
        carl.execute(ASK).fetchall()
    wait_until(lambda: 'user="carl"' in running.metrics())
    found = dict(
        re.findall(r'^relserve_(\w+)\{model="scripted",user="carl"\} (\S+)$', running.metrics(), re.M)
    )
    assert (found["llm_rows_total"], found["relqueries_total"]) == ("298.0", "1.0")


def test_nobody_sees_it_without_the_token(running: Running) -> None:
    for path in ("", "api/status", "metrics"):
        assert get(running.page + path)[0] == 401
    assert get(running.page + "health")[0] == 200


def test_a_client_writes_no_line_of_the_log(running: Running) -> None:
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(host="127.0.0.1", port=running.port, user="ann", dbname="nowhere\x1b[2J\u202e")


@pytest.mark.long
def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    Users(tmp_path / "users.json").save()
    environ = {name: value for name, value in os.environ.items() if name != "RELSERVE_HTTP_TOKEN"}
    command = (*COMMAND[3:], "--http", "0", "--users", str(tmp_path / "users.json"))
    done = run_command(*command, env=environ)
    assert done.returncode
    assert "give --http-token" in done.stderr
    assert "Traceback" not in done.stderr
