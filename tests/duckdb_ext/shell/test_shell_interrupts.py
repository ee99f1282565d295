"""Ctrl-C, an engine that goes away, and one that is not there."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from extension_host import Installed, Serve, Service, interrupted_when, needs_shell, serving

from relserve.engines.scripted import ScriptedEngine
from tests.waiting import wait_until

SLOW = dict(chunk=1, pause_s=0.05)  # the rows of one chunk take minutes
PROMPT = "\x1b[00m D "  # behind the database's name in colour


class Terminal:
    """The stock shell on a terminal of its own."""

    def __init__(self, installed: Installed, service: Service) -> None:
        import duckdb_cli

        shell = Path(duckdb_cli.__file__).with_name("duckdb")
        ours, theirs = pty.openpty()
        command = [str(shell), "-unsigned", "-init", str(installed.start_up(1))]
        environment = {**os.environ, "TERM": "dumb", "HOME": str(installed.extension.parent)}
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self._ours, self.seen = ours, ""
        threading.Thread(target=self._listen, daemon=True).start()
        self.wait_for(PROMPT)  # what is typed before is lost
        self.type(f"SET llm_socket = '{service.socket}';")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode() + b"\n")

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.seen)

    def _listen(self) -> None:
        try:
            while True:
                seen = os.read(self._ours, 4096).decode(errors="replace")
                if "\x1b[c" in seen:  # it asks what the terminal can do, and waits
                    os.write(self._ours, b"\x1b[?62c")
                self.seen += seen
        except OSError:
            pass

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(installed: Installed) -> Iterator[Callable[[Service], Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(service: Service) -> Terminal:
        opened.append(Terminal(installed, service))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@needs_shell
@pytest.mark.performance
def test_ctrl_c_in_the_shell(
    terminal: Callable[[Service], Terminal], serve: Serve, limit_s: Callable[..., float]
) -> None:
    service = serve(**SLOW)
    shell = terminal(service)
    shell.type("SELECT llm('{}', i) FROM range(5000) t(i);")
    shell.wait_for("/2,048 rows")
    shell.seen, asked_s = "", time.monotonic()
    shell.process.send_signal(signal.SIGINT)
    shell.wait_for(PROMPT)
    assert time.monotonic() - asked_s < limit_s(1)
    assert "\r\x1b[K\x1b" in shell.seen  # no progress is left in its line
    wait_until(lambda: service.engine.aborted > 0)
    shell.type("SELECT 'alive ' || state FROM llm_queries();")
    shell.wait_for("alive cancelled")


@needs_shell
def test_progress_on_a_terminal(terminal: Callable[[Service], Terminal], serve: Serve) -> None:
    service = serve(**SLOW)
    shell = terminal(service)
    shell.type("SELECT max(llm('{}', i)) FROM range(2000) t(i);")
    shell.wait_for("/2,000 rows")
    service.engine.pause_s = 0.0
    shell.wait_for("999")


def test_ctrl_c_in_python(installed: Installed, serve: Serve) -> None:
    service = serve(**SLOW)
    with installed.connect(service) as con:
        with interrupted_when(lambda: service.engine.num_answered > 2):
            with pytest.raises(duckdb.Error, match="interrupted"):
                con.execute("SELECT llm('{}', i) FROM range(5000) t(i)").fetchall()
        wait_until(lambda: service.engine.aborted > 0)
        assert con.execute("SELECT state FROM llm_queries()").fetchall() == [("cancelled",)]


def test_a_prepared_statement_runs_again_after_ctrl_c(installed: Installed, serve: Serve) -> None:
    service = serve(**SLOW)
    with installed.connect(service) as con:
        con.execute("PREPARE p AS SELECT llm('{}', i) FROM range(5000) t(i) WHERE i < $1")
        with interrupted_when(lambda: service.engine.num_answered > 2):
            with pytest.raises(duckdb.Error, match="interrupted"):
                con.execute("EXECUTE p(5000)").fetchall()
        assert con.execute("EXECUTE p(2)").fetchall() == [("0",), ("1",)]


def test_an_engine_that_is_not_there(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("SET llm_socket = '/nowhere/at/all'")
        with pytest.raises(duckdb.Error, match="no engine answers at /nowhere/at/all: No such file"):
            con.execute("SELECT llm('{}', 1)").fetchall()


def test_an_engine_that_refuses(installed: Installed, service: Service) -> None:
    service.refusal = "runs another release\nof relserve"
    with installed.connect(service) as con:
        with pytest.raises(duckdb.Error, match="runs another release\nof relserve"):
            con.execute("SELECT llm('{}', 1)").fetchall()
        service.refusal = ""
        assert con.execute("SELECT llm('{}', 1)").fetchall() == [("1",)]


def test_an_engine_that_goes_away_and_comes_back(installed: Installed, serve: Serve) -> None:
    with serving(ScriptedEngine()) as first, installed.connect(first) as con:
        con.execute("SELECT llm('{}', 1)").fetchall()
        first.hang_up()
        wait_until(lambda: first.num_open == 0)
        assert len(con.execute("SELECT llm('{}', 2)").fetchall()) == 1


def test_an_engine_that_goes_away_while_it_is_asked(installed: Installed, serve: Serve) -> None:
    service = serve(**SLOW)
    with installed.connect(service) as con:
        leaving = threading.Thread(
            target=lambda: (wait_until(lambda: service.engine.num_answered > 2), service.hang_up())
        )
        leaving.start()
        with pytest.raises(duckdb.Error, match="the engine went away before it had answered"):
            con.execute("SELECT llm('{}', i) FROM range(5000) t(i)").fetchall()
        leaving.join()
        wait_until(lambda: service.engine.aborted > 0)
