"""attach() takes no connection with an open transaction, and says so at once."""

from __future__ import annotations

from contextlib import suppress

import duckdb
import pytest
from relserve_duckdb import attach

from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import UsageError
from relserve.session.session import Session


@pytest.mark.cells(1)
@pytest.mark.parametrize("last", ["SELECT 1", "CREATE TABLE t (i INT)", "SELECT no_such_column"])
def test_an_open_transaction_is_refused_and_stays_as_it_is(last: str) -> None:
    session = Session(lambda model: ScriptedEngine(script=echo))
    with duckdb.connect() as con:
        con.execute("BEGIN")
        with suppress(duckdb.BinderException):
            con.execute(last)
        with pytest.raises(UsageError, match="COMMIT or ROLLBACK first, then attach"):
            attach(con, session)
        con.execute("ROLLBACK")
        ours = attach(con, session)
        with pytest.raises(UsageError, match="COMMIT or ROLLBACK first"):
            attach(ours.begin(), session)
        assert ours.execute("ROLLBACK; SELECT llm('{}', 1)").fetchall() == [("1",)]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "index",
    [
        "CREATE INDEX x ON t (llm('{}', a))",
        "create unique index if not exists x on t ((llm_filter ('{}', a)))",
        "CREATE INDEX x ON t (rate(a))",
    ],
)
def test_an_index_over_a_call_is_refused_in_plain_words(index: str) -> None:
    engine = ScriptedEngine(script=echo)
    with duckdb.connect() as con:
        ours = attach(con, Session(lambda model: engine))
        ours.execute("CREATE TABLE t (a VARCHAR); CREATE MACRO rate(x) AS llm('{}', x)")
        with pytest.raises(UsageError, match="an index cannot call an llm function"):
            ours.execute(index)
        ours.execute("CREATE INDEX llm_index ON t (a)")
        ours.execute("CREATE SCHEMA s; CREATE VIEW s.t AS SELECT llm('{}', a) FROM main.t")
        ours.execute("CREATE VIEW a AS FROM s.t")
        ours.execute("CREATE INDEX a ON main.t (a)")  # views of such names are another matter
        ours.execute("PREPARE lower AS SELECT llm('{}', 1); CREATE OR REPLACE MACRO rate(x) AS upper(x)")
        ours.execute("CREATE INDEX b ON t (lower(a), (rate(a) || ' llm(a)')) -- not llm(a)")
        assert engine.num_prompts == 0
