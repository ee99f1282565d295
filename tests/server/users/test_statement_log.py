"""The log of statements."""

from __future__ import annotations

import io
import json

import pytest

from relserve.server.users.log import LogEntry, StatementLog

ENTRY = LogEntry(1763800000.1234, "ann", "127.0.0.1:5000", 7, 0.25, 3, 40, None, "SELECT 'my\nsecret'")


@pytest.mark.parametrize("with_texts", [False, True])
def test_one_line_a_statement_and_its_text_only_if_asked_for(with_texts):
    file = io.StringIO()
    log = StatementLog(file, with_texts)
    log.write(ENTRY)
    log.write(ENTRY._replace(sqlstate="42501"))
    first, second = map(json.loads, file.getvalue().splitlines())
    expected = {
        "time": "2025-11-22T08:26:40.123+00:00", "user": "ann", "address": "127.0.0.1:5000", "pid": 7,
        "seconds": 0.25, "rows": 3, "tokens": 40, "sqlstate": None,
    }  # fmt: skip
    assert first == expected | ({"text": ENTRY.text} if with_texts else {})
    assert second["sqlstate"] == "42501"
    assert ("secret" in file.getvalue()) is with_texts
