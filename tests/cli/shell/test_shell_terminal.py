"""The shell in a terminal of its own, driven by tmux where there is one, and on a bare pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from terminals import LEFT, Pty, Terminal, Tmux, expect

from relserve.cli.shell.editor import PROMPT
from relserve.cli.shell.repl import AGAIN, HINT
from relserve.engines.loop import spawn
from tests.engines.http_fakes import Answered, FakeServer, said
from tests.waiting import PATIENCE_S, wait_until

CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"
ENDLESS = "SELECT sum(sin(i)) FROM range(1000000000000000000) t(i);"
Opened = Callable[..., Terminal]
# What depends on the terminal least.
on_one_terminal = pytest.mark.parametrize(
    "opened", ["tmux" if shutil.which("tmux") else "pty"], indirect=True
)


@pytest.fixture(params=["tmux", "pty"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """opened(*options): a terminal in which `relserve shell` has just greeted."""
    if request.param == "tmux" and shutil.which("tmux") is None:
        pytest.skip("there is no tmux: the same runs on a bare pseudo-terminal")
    terminals: list[Terminal] = []

    def start(*options: str, **variables: str) -> Terminal:
        environ = {
            **os.environ, "RELSERVE_CACHE_DIR": str(tmp_path / "cache"), "PROMPT_TOOLKIT_NO_CPR": "1",
            "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path), **variables,
        }  # fmt: skip
        command = [sys.executable, "-m", "relserve", "shell", "--examples", *options]
        terminals.append((Tmux if request.param == "tmux" else Pty)(command, environ))
        expect(terminals[-1], HINT)
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def slow_server() -> Iterator[FakeServer]:
    """A server that answers after a long while; "quick N" after N quarters of a second."""

    async def answer(body: dict[str, Any]) -> Answered:
        _, is_quick, number = body["messages"][-1]["content"].partition("quick ")
        await asyncio.sleep(int(number) / 4 if is_quick else 2 * PATIENCE_S)
        return said("an answer")

    server = FakeServer(answer)
    spawn(server.start()).result(timeout=PATIENCE_S)
    yield server
    spawn(server.stop()).result(timeout=PATIENCE_S)


def is_asked(shell: Terminal) -> bool:
    """Whether it waits at an empty prompt."""
    return shell.seen().rstrip().endswith(PROMPT.rstrip())


@pytest.mark.cells(1)
def test_multi_line_completion_modes_and_carets(opened: Opened) -> None:
    shell = opened("--model", "scripted")
    shell.type("SELECT title," + ENTER)
    shell.type("  llm_classify('Mood of {title}', title, choi" + TAB)
    expect(shell, "choices :=")
    shell.type("['glum'])" + ENTER + "FROM fil" + TAB)
    expect(shell, "FROM films")
    shell.type(" WHERE id = 1" + ENTER + ";" + ENTER)
    table = expect(shell, "│ The Door │ glum")
    assert "...>" in table
    shell.type(".mode line" + ENTER + "SELECT 40 + 2 AS answer, 'x' AS y;" + ENTER)
    expect(shell, "answer = 42")
    shell.type("SELECT titel FROM films;" + ENTER)
    seen = [line.rstrip() for line in expect(shell, "^^^^^").splitlines()]
    (at,) = (i for i, line in enumerate(seen) if line.startswith("LINE 1: SELECT titel"))
    assert seen[at + 1] == "               ^^^^^"  # under the name
    shell.type("SELECT llm('rate {x', title) FROM films;" + ENTER)
    expect(shell, "Write {{ for a literal brace.")
    shell.type(".quit" + ENTER)
    expect(shell, f"{LEFT} 0")


@pytest.mark.long
@on_one_terminal
def test_ctrl_c_cancels_a_query_of_duckdb(opened: Opened) -> None:
    shell = opened("--model", "scripted")
    shell.type("SELECT 'on' || 'going' AS state; " + ENDLESS + ENTER)
    expect(shell, "ongoing")  # the first statement is done, the second runs
    shell.type(CTRL_C)
    expect(shell, "cancelled")
    shell.type("SELECT 40 + 2 AS answer;" + ENTER)
    expect(shell, "42")
    wait_until(lambda: is_asked(shell))
    shell.type(CTRL_C)
    expect(shell, AGAIN)
    wait_until(lambda: is_asked(shell))
    shell.type(CTRL_C)
    expect(shell, f"{LEFT} 0")


@pytest.mark.long
@on_one_terminal
def test_ctrl_c_cancels_an_llm_call_whose_progress_is_shown(opened: Opened, slow_server: FakeServer) -> None:
    shell = opened("--model", slow_server.url)
    shell.type("SELECT llm('say {}', if(i > 2, 'quick ', '') || i) FROM range(9) t(i);" + ENTER)
    wait_until(lambda: slow_server.num_running == 3 and len(slow_server.requests) == 9)
    expect(shell, "llm() 6/9 rows")
    shell.type(CTRL_C)
    expect(shell, "cancelled")
    wait_until(lambda: slow_server.num_dropped == 3)
    shell.type("SELECT llm('quick {}', 1) AS said;" + ENTER)
    expect(shell, "an answer")
    wait_until(lambda: is_asked(shell))
    shell.type(CTRL_D)
    expect(shell, f"{LEFT} 0")


@pytest.mark.long
@on_one_terminal
def test_what_is_longer_than_the_screen_goes_to_the_pager(opened: Opened) -> None:
    shell = opened("--model", "scripted", PAGER="sed s/^/paged:/")
    shell.type("SELECT i FROM range(3) t(i);" + ENTER)
    expect(shell, "│ 2 │")
    shell.type("SELECT i FROM range(900, 999) t(i);" + ENTER)
    assert "paged:│ 998 │" in expect(shell, "998")
    shell.type(".pager off" + ENTER + "SELECT i FROM range(100, 199) t(i);" + ENTER)
    seen = expect(shell, "(40 of 99 rows shown")
    assert "paged:│ 139" not in seen
    assert "│ 139 │" in seen
