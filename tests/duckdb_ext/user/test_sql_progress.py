"""A bar a relQuery where a person looks, a line now and then where output goes to a file, else nothing."""

from __future__ import annotations

import io
import re
import sys

import pytest
from relserve_duckdb import attach
from sql_fixtures import make

from relserve.call.relquery import Submission, Usage
from relserve.errors import Failure, FailureKind
from relserve.session import progress
from relserve.session.history import QueryRecord


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def some_fail(prompt: str, submission: Submission) -> str | Failure:
    return Failure(FailureKind.REFUSED, "no") if prompt.endswith("9") else "fine"


def run(
    monkeypatch: pytest.MonkeyPatch, wanted: bool | None, screen: io.StringIO, sql: str, pause_s: float = 0.1
) -> str:
    monkeypatch.setattr(progress, "_last_line_s", float("-inf"))
    made = make(script=some_fail, chunk=50, pause_s=pause_s)
    con = attach(made.con, made.con.session, progress=wanted)
    monkeypatch.setattr(sys, "stderr", screen)
    con.execute(sql).fetchall()
    return screen.getvalue()


SQL = "SELECT llm('x {}', body) FROM p"


@pytest.mark.filterwarnings("ignore::relserve.RowsFailedWarning")
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(monkeypatch, None, Terminal(), SQL)
    assert re.search(
        r"%\|.*\| 00:\d\d<00:\d\d llm\(\) [\d,]+/10,000 rows, [\d,]+ tokens/s, [\d,]+ failed", text
    )
    assert "\n" not in text  # one line
    assert text.endswith("\r")  # cleared


@pytest.mark.cells(1)
@pytest.mark.filterwarnings("ignore::relserve.RowsFailedWarning")
@pytest.mark.parametrize(("wanted", "screen"), [(None, io.StringIO()), (False, Terminal())])
def test_nothing_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, wanted: bool | None, screen: io.StringIO
) -> None:
    assert run(monkeypatch, wanted, screen, SQL) == ""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::relserve.RowsFailedWarning")
def test_one_line_at_the_end_where_output_goes_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(monkeypatch, True, io.StringIO(), SQL)
    assert re.fullmatch(r"relserve: llm\(\) 10,000/10,000 rows, [\d,]+ tokens/s, 1,000 failed\n", text), text


@pytest.mark.filterwarnings("ignore::relserve.RowsFailedWarning")
def test_a_line_now_and_then_where_output_goes_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.35)
    lines = run(monkeypatch, True, io.StringIO(), SQL).splitlines()
    assert 1 <= len(lines) <= 3
    assert re.search(r"about \d+ s left$", lines[0])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::relserve.RowsFailedWarning")
def test_many_small_relqueries_are_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "; ".join(f"SELECT llm('{i} {{}}', body) FROM p LIMIT 300" for i in range(5))
    assert len(run(monkeypatch, True, io.StringIO(), sql, pause_s=0.06).splitlines()) == 1


def test_words() -> None:
    record = QueryRecord("r", "llm", "t", "m", 10_000, 500, num_null=12)
    assert progress.words(record, None) == "llm() 12/10,000 rows"
    record.num_rows_done, record.num_failed, record.usage = 4_000, 3, Usage(10, 0, 5)
    assert progress.words(record, 5_200.4) == "llm() 4,012/10,000 rows, 5,200 tokens/s, 3 failed"
