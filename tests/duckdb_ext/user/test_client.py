"""What belongs to the caller comes in as one Client: a server can bring another than a Python program's."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relserve_duckdb import Connection

from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind
from relserve.session.history import History, QueryRecord
from relserve.session.progress import Progress
from relserve.session.session import Session


class OneTable:
    """The variables of a session with one table."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        mine = pa.table({"a": ["x", "y"]})
        assert mine.num_rows == 2  # DuckDB finds it in this frame
        return function(*args, **kwargs)

    def one_shot(self) -> list[str]:
        return []


class Recording:
    """A client that notes what it is told."""

    def __init__(self) -> None:
        self.shown: list[QueryRecord] = []
        self.failures: list[int] = []
        self.constants: list[str] = []
        self.handlers: list[object] = []
        self.interrupt: Callable[[], None] | None = None

    def variables(self, frame: FrameType) -> OneTable:
        return OneTable()

    @contextmanager
    def watching(self, interrupt: Callable[[], None]) -> Iterator[None]:
        self.handlers.append(signal.getsignal(signal.SIGINT))
        self.interrupt = interrupt
        yield
        self.interrupt = None

    def progress(self) -> AbstractContextManager[Progress | None]:
        @contextmanager
        def shown() -> Iterator[Progress]:
            yield self.shown.append

        return shown()

    def warn_of_failures(self, history: History, statement: int) -> bool:
        failed = any(each.num_failed for each in history.queries() if each.statement == statement)
        self.failures += [statement] * failed
        return failed

    def warn_of_constant(self, function: str) -> None:
        self.constants.append(function)


def connection(script: Callable[[str, Submission], str | Failure]) -> tuple[Connection, Recording]:
    client, engine = Recording(), ScriptedEngine(script=script)
    return Connection(duckdb.connect(), Session(lambda model: engine), client, prefetch=True), client


def some_fail(prompt: str, submission: Submission) -> str | Failure:
    return Failure(FailureKind.REFUSED, "no") if prompt.endswith("y") else prompt


@pytest.mark.filterwarnings("error")
def test_everything_of_the_caller_goes_through_its_client(capsys: pytest.CaptureFixture[str]) -> None:
    con, client = connection(some_fail)
    handler = signal.getsignal(signal.SIGINT)
    assert con.execute("SELECT llm('is {}', a) FROM mine ORDER BY a").fetchall() == [("is x",), (None,)]
    relation: Any = con.sql("SELECT llm('was {}', a), llm('const') FROM mine ORDER BY a")
    assert relation.fetchall() == [("was x", "const"), (None, "const")]
    assert {each.function for each in client.shown} == {"llm"}
    assert client.failures == [1, 2]
    assert client.constants == ["llm"]
    assert set(client.handlers) == {handler}
    assert con.cursor().execute("SELECT llm('{}', 'x')").fetchall() == [("x",)]
    assert len(client.shown) > 3
    con.close()
    assert capsys.readouterr() == ("", "")


def test_the_client_may_interrupt() -> None:
    def stop(prompt: str, submission: Submission) -> str:
        assert client.interrupt is not None
        client.interrupt()
        return prompt

    con, client = connection(stop)
    with pytest.raises(duckdb.InterruptException):
        con.execute("SELECT llm('is {}', i), llm('after {}', llm('x {}', i)) FROM range(9) t(i)").fetchall()
    assert [each.state for each in con.session.history.queries()] == ["cancelled"]
    con.close()
