"""What a statement's warning says of failed rows."""

from __future__ import annotations

from relserve.errors import Failure, FailureKind
from relserve.session.history import MAX_ERRORS, History, QueryRecord
from relserve.session.notices import summary
from relserve.session.recorder import Recorder


def test_failed_rows_are_counted_beyond_those_that_are_listed() -> None:
    history, failure = History(), Failure(FailureKind.CAP, "reached")
    recorder = Recorder(history, QueryRecord("r", "llm", "{}", "m", 0, statement=1))
    recorder.add_rows(300_000, 0, 150_000)
    for _ in range(MAX_ERRORS + 1):
        recorder.fail("x", 2, failure)
    assert summary(history, 1).startswith("200,002 of 300,000 rows failed and are NULL: 200,002 past a cap")
    assert summary(history, 2) == ""
