"""The prompt, key by key, in this process: what is typed comes from a pipe, and nothing is drawn."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from relserve.cli.formats import Format
from relserve.cli.shell import repl
from relserve.cli.shell import shell as shell_module
from relserve.cli.shell.display import Display
from relserve.cli.shell.editor import Editor
from relserve.cli.shell.history import FILE_NAME
from relserve.cli.shell.shell import Shell
from relserve.cli.sql import connect
from tests.waiting import wait_until

CTRL_C, CTRL_D, CTRL_R, TAB, BACKSPACE = "\x03", "\x04", "\x12", "\t", "\x7f"
CTRL_X, CTRL_E = "\x18", "\x05"
UP, ALT_ENTER = "\x1b[A", "\x1b\r"
Typed = Callable[..., str]


class Until(str):
    """What the prompt must hold before the next keys come: a completion takes its time."""


READY = ("x", Until("x"), BACKSPACE, Until(""))  # the prompt has come, and the history with it


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """typed(keys, ..): what the shell writes after its greeting while these are typed one after another."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    editors: list[Editor] = []

    def editor(shell: Shell, folder: Path) -> Editor:
        editors.append(Editor(shell, folder))
        return editors[-1]

    def send(pipe: PipeInput, keys: tuple[str, ...]) -> None:
        for each in keys:
            if isinstance(each, Until):
                wait_until(lambda each=each: editors and editors[-1].typed == each)
            else:
                pipe.send_text(each)

    def run(*keys: str) -> str:
        monkeypatch.setattr(repl, "Editor", editor)
        editors.clear()
        open_database = partial(connect, model="scripted", examples=True, cache=False)
        shell = Shell(open_database, None, Display(Format.csv), is_interactive=True)
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            sender = threading.Thread(target=send, args=(pipe, keys))
            sender.start()
            repl.run(shell, "scripted")
            sender.join()
        shell.close()
        out, err = capfd.readouterr()
        _, _, after = out.partition(repl.HINT + "\n")
        return after + err

    return run


@pytest.mark.long
def test_ctrl_c_before_the_prompt_is_there_ends_nothing(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = iter([KeyboardInterrupt(), "SELECT 1 AS a;", EOFError()])

    def prompt(editor: Editor) -> str:
        told = next(prompts)
        if isinstance(told, str):
            return told
        raise told

    monkeypatch.setattr("prompt_toolkit.PromptSession.prompt", prompt)
    assert typed() == '"a"\n1\nCtrl-C once more, or Ctrl-D, leaves the shell.\n'


def test_a_statement_takes_several_lines(typed: Typed) -> None:
    assert typed("SELECT 1 AS a,\r", "';' AS b\r", ";\r", CTRL_D) == '"a","b"\n1,";"\n'


@pytest.mark.long
def test_results_of_several_statements_up_to_the_first_error(typed: Typed) -> None:
    shown = typed("SELECT 1 AS a; SELECT 2 AS b; SELEC; SELECT 3 AS c;\r", "SELECT 4 AS d;\r", CTRL_D)
    before, _, after = shown.partition('"d"\n4\n')
    assert before == '"a"\n1\n"b"\n2\n'
    assert "LINE 1: SELEC;\n        ^^^^^\n" in after


def test_alt_enter_breaks_a_line_that_is_complete(typed: Typed) -> None:
    assert typed("SELECT 1 AS a;", ALT_ENTER, "SELECT 2 AS b;\r", CTRL_D) == '"a"\n1\n"b"\n2\n'


@pytest.mark.cells(2)
@pytest.mark.parametrize(("begun", "completed", "rest", "shown"), [
    ("SELECT count(*) AS n FROM fil", "SELECT count(*) AS n FROM films", ";", '"n"\n80\n'),
    ("SELECT min(tit", "SELECT min(title", ") AS t FROM films WHERE id = 1;", '"t"\n"The Door"\n'),
    ("SELECT llm('{}', 1, choi", "SELECT llm('{}', 1, choices := ", "['x']) AS a;", '"a"\n"x"\n'),
    (".time", ".timer ", "on\r.timer", "timer: on\n"),
    (".mode mark", ".mode markdown", "\rSELECT 1 AS a;", "| a |\n| ---: |\n| 1 |\n"),
    ("FROM 'a file.c", "FROM 'a file.csv", "';", '"x"\n7\n'),
])  # fmt: skip
def test_tab_completes(
    typed: Typed, begun: str, completed: str, rest: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "a file.csv").write_text("x\n7\n")
    assert typed(begun, TAB, Until(completed), rest + "\r", CTRL_D) == shown


def test_ctrl_c_empties_the_line_and_leaves_when_pressed_twice_after(typed: Typed) -> None:
    assert typed("SELECT 1 AS a;\r", "SELECT nonsense", CTRL_C, "SELECT 2 AS b;\r", CTRL_D) == (
        '"a"\n1\n"b"\n2\n'
    )
    assert typed("SELECT", CTRL_C, CTRL_C, CTRL_C, "SELECT 2 AS b;\r") == repl.AGAIN + "\n"
    assert typed(CTRL_C, "SELECT 1 AS a;\r", CTRL_C, CTRL_C) == '"a"\n1\n' + 2 * (repl.AGAIN + "\n")


@pytest.mark.cells(2)
@pytest.mark.parametrize("keys", [".quit\r", ".exit\r", ".q\r", "quit\r", " Exit\r", CTRL_D])
def test_ways_to_leave(typed: Typed, keys: str) -> None:
    assert typed(keys, "SELECT 1;\r") == ""


@pytest.mark.long
def test_changes_are_told(typed: Typed) -> None:
    statements = (
        "CREATE TABLE t(i INTEGER)", "INSERT INTO t FROM range(2000)", "UPDATE t SET i = 0 WHERE i = 7",
        "DELETE FROM t WHERE i < 2", "CREATE VIEW v AS FROM t", "SET threads = 2", "BEGIN", "COMMIT",
        "COPY t TO 'out.csv'", 'INSERT INTO t VALUES (1) RETURNING i AS "Count"', 'SELECT 5 AS "Count"',
        "CREATE TABLE u AS FROM t",
    )  # fmt: skip
    told = typed(*(f"{each};\r" for each in statements), CTRL_D)
    assert told == (
        "2,000 rows inserted\n1 row updated\n3 rows deleted\n1,997 rows copied\n"
        '"Count"\n1\n"Count"\n5\n1,998 rows written\n'
    )


@pytest.mark.long
def test_the_history_lasts_and_is_its_users_alone(typed: Typed, tmp_path: Path) -> None:
    assert typed("SELECT 1 AS a;\r", " SELECT 'secret' AS s;\r", "SELECT 2\rAS b;\r", CTRL_D)
    path = tmp_path / "cache" / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.read_text()
    second = Until("SELECT 2\nAS b;")
    assert typed(*READY, UP, second, "\r", CTRL_D) == '"b"\n2\n'
    assert typed(*READY, UP, second, UP, UP, Until("SELECT 1 AS a;"), "\r", CTRL_D) == '"a"\n1\n'
    os.chmod(path, 0o644)
    assert typed("x", CTRL_D, CTRL_C, CTRL_D) == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.long
def test_the_history_is_searched(typed: Typed) -> None:
    assert typed("SELECT 1 AS a;\r", "SELECT 2 AS b;\r", CTRL_D)
    first = Until("SELECT 1 AS a;")
    assert typed(*READY, CTRL_R, "1 AS", "\r", first, "\r", CTRL_D) == '"a"\n1\n'
    assert typed(*READY, CTRL_R, "1 AS", CTRL_C, Until(""), "SELECT 3 AS c;\r", CTRL_D) == '"c"\n3\n'


def test_the_editor_of_the_user_changes_what_was_typed(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/1/7/")
    edited = ("SELECT 1 AS a;", Until("SELECT 1 AS a;"), CTRL_X + CTRL_E, Until("SELECT 7 AS a;"))
    assert typed(*edited, "\r", CTRL_D).endswith('"a"\n7\n')


def test_a_shell_works_where_no_history_can_be_kept(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", "/dev/null/nowhere")
    again = (*READY, UP, Until("SELECT 1 AS a;"), "\r")
    assert typed("SELECT 1 AS a;\r", *again, CTRL_D) == '"a"\n1\n"a"\n1\n'


def test_an_error_nobody_foresaw_leaves_the_shell_open(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    original = shell_module._outcome

    def fail_once(*given: object) -> object:
        monkeypatch.setattr(shell_module, "_outcome", original)
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(shell_module, "_outcome", fail_once)
    shown = typed("SELECT 1 AS a;\r", "SELECT 2 AS b;\r", CTRL_D)
    assert shown.startswith('"b"\n2\n')
    assert "Traceback" in shown
    assert "RuntimeError: unforeseen" in shown
