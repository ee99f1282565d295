"""A real server of few files whose page is flooded: SQL finds a file for each of its clients."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from relserve.errors import UsageError
from relserve.machine.open_files import allow_open_files
from relserve.server.options import ServerOptions
from relserve.server.places import LEAST, MOST, files_kept, places_of
from tests.server.page.page_facts import get
from tests.waiting import PATIENCE_S

CLIENTS, FILES, FLOOD = 4, 900, 1100


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """The port of SQL and the page of `relserve serve`, which may have `FILES` files open."""
    command = [sys.executable, "-m", "relserve", "serve", "--model", "scripted", "--port", "0", "--http", "0"]
    process = subprocess.Popen(
        [*command, "--max-connections", str(CLIENTS)], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "RELSERVE_CACHE_DIR": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
    )  # fmt: skip
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    assert process.stderr is not None
    said = ""
    while not (found := re.search(r"page is at (\S+)\n.* is served on [^ ]+:(\d+)", said, re.DOTALL)):
        line = process.stderr.readline()
        assert line, said
        said += line
    watchdog.cancel()
    yield int(found[2]), found[1]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert said.count("Too many open files") == 0


@pytest.mark.long
def test_sockets_of_the_page_leave_files_for_sql(addresses: tuple[int, str]) -> None:
    port, page = addresses
    if allow_open_files(FLOOD + 200) < FLOOD + 200:
        pytest.skip("this process may not have as many files open")
    http_port = int(page.rsplit(":", 1)[1].strip("/"))
    with contextlib.ExitStack() as stack:
        for _ in range(FLOOD):
            stack.enter_context(socket.create_connection(("127.0.0.1", http_port), PATIENCE_S))
        for _ in range(CLIENTS):
            con = psycopg.connect(
                host="127.0.0.1", port=port, user="ann", dbname="memory", connect_timeout=int(PATIENCE_S)
            )
            assert stack.enter_context(con).execute("SELECT 1").fetchone() == (1,)
        assert get(f"{page}health")[0] == 200


@pytest.mark.parametrize(
    ("ports", "left", "expected"),
    [
        ({"http_port": 1}, 50, 50), ({"openai_port": 1}, 50, 25),
        ({"http_port": 1, "openai_port": 1}, 3 * LEAST, LEAST),
        ({"http_port": 1, "openai_port": 1, "mcp_port": 1}, 4 * LEAST, LEAST),
        ({"http_port": 1, "openai_port": 1}, 100_000, MOST),
    ],
)  # fmt: skip
def test_what_is_left_is_shared(ports: dict[str, int], left: int, expected: int) -> None:
    options = ServerOptions(max_connections=CLIENTS, **ports)
    assert places_of(options, lambda wanted: min(wanted, files_kept(options) + left)) == expected


@pytest.mark.parametrize(("ports", "left"), [({}, -1), ({"http_port": 1}, LEAST - 1)])
def test_too_few_files_are_told(ports: dict[str, int], left: int) -> None:
    options = ServerOptions(max_connections=CLIENTS, **ports)
    with pytest.raises(UsageError, match=r"--max-connections 4 needs \d+ open files.*ulimit -n"):
        places_of(options, lambda wanted: files_kept(options) + left)


def test_the_limit_is_raised_as_far_as_may_be() -> None:
    code = (
        "import resource; from relserve.machine.open_files import allow_open_files as allow\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128)); print(allow(32), allow(100), allow(500))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert told.stdout.split() == ["32", "100", "128"], told.stderr
