"""What a command says after Ctrl-C."""

from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cli.interrupted import told_when_interrupted
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Cancelled
from relserve.session.history import QueryRecord
from relserve.session.session import Session
from tests.command_line import relserve


def said(session: Session) -> str:
    with pytest.raises(Cancelled) as caught, told_when_interrupted(session):
        raise KeyboardInterrupt
    return str(caught.value)


def test_it_says_what_was_answered_and_whether_that_is_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers", 10**6, print)
    session = Session(lambda _: ScriptedEngine(), cache=cache)
    assert said(session) == "interrupted before anything was asked"
    session.history.begin(QueryRecord("r", "llm", "{}", "m", 2000, num_distinct=1500, num_done=120))
    assert said(session) == (
        "interrupted: 120 of 1,500 prompts were answered; answers at temperature 0 are kept, and the same "
        "command goes on from there"
    )
    session.cache = None
    assert said(session).endswith("120 of 1,500 prompts were answered, and none of the answers is kept")


def test_the_command_ends_with_that_line_and_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relserve.cli.sql.write", interrupt)
    done = relserve("sql", "SELECT llm('{}', 'x')", "--model", "scripted")
    assert done.returncode == 130
    assert (
        done.stderr
        == b"relserve: interrupted: 1 of 1 prompts were answered, and none of the answers is kept\n"
    )
