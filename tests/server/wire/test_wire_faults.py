"""Errors as clients hear of them: every exception has an SQLSTATE, and its place in the text is told."""

from __future__ import annotations

import inspect

import duckdb
import pyarrow as pa
import pytest

from relserve import errors
from relserve.errors import ProtocolError, QuotaError, RowsFailedWarning, TemplateError
from relserve.server.wire.faults import fields_of
from relserve.server.wire.sqlstates import is_mapped, sqlstate_of

OURS = [
    each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, errors.RelserveError)
]
DUCKDBS = {each for each in vars(duckdb).values() if inspect.isclass(each) and issubclass(each, duckdb.Error)}


@pytest.mark.parametrize(
    "kind", [*OURS, *sorted(DUCKDBS, key=lambda each: each.__name__)], ids=lambda each: each.__name__
)
def test_every_exception_has_a_code_of_its_own(kind: type[BaseException]) -> None:
    assert is_mapped(kind)


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("CREATE TABLE t(i INTEGER PRIMARY KEY, s VARCHAR NOT NULL, c INTEGER CHECK (c > 0))")
    con.execute("INSERT INTO t VALUES (1, 'a', 1)")
    con.execute("CREATE TABLE u(i INTEGER REFERENCES t(i))")
    con.execute("CREATE SCHEMA sch")
    return con


@pytest.mark.parametrize(
    ("sql", "sqlstate", "place"),
    [
        ("selec 1", "42601", "selec"), ("select * from nope", "42P01", "nope"),
        ("select nope from t", "42703", "nope"),
        ("select 1,\n\n  nope from t", "42703", "nope"), ("select '中文', nope from t", "42703", "nope"),
        (f"select '{'x' * 300}', nope, '{'y' * 300}' from t", "42703", "nope"),
        (f"select 1,\n '{'x' * 300}', nope from t", "42703", "nope"),
        ("select b.x from t", "42P01", "b.x"), ("select nope(1)", "42883", "nope"),
        ("select sum(s) from t", "42883", "sum"), ("select * from t, t t2 where i = 1", "42702", "i = 1"),
        ("select i, count(*) from t", "42803", "i,"), ("select * from nosch.t", "3F000", "nosch"),
        ("select 'a'::int", "22P02", "::int"), ("select '2020-13-01'::date", "22008", "::date"),
        ("select 'x'::date", "22007", "::date"), ("select 300::tinyint", "22003", "::tiny"),
        ("select 9223372036854775807 + 1", "22003", None),
        ("insert into t values (1, 'a', 1)", "23505", None),
        ("insert into t values (2, NULL, 1)", "23502", None),
        ("insert into t values (2, 'a', -1)", "23514", None),
        ("insert into u values (7)", "23503", None), ("create table t(i int)", "42P07", None),
        ("create view t as select 1", "42P07", None), ("create schema sch", "42P06", None),
        ("create table x(i int, i int)", "42701", None), ("drop table nope", "42P01", None),
        ("drop table t", "2BP01", None), ("insert into t values (1)", "42601", None),
        ("insert into t(nope) values (1)", "42703", None), ("select $1::int", "08P01", None),
        ("set nope = 1", "42704", None), ("rollback", "25P01", None), ("execute nope", "26000", None),
        ("select * from 'nofile.csv'", "58P01", None), ("select error('boom')", "22023", None),
        ("select (select i from range(3) r(i))", "21000", None), ("use nope", "3F000", None),
        ("select nextval('nope')", "42P01", None), ("select json('{')", "22P02", None),
    ],
)  # fmt: skip
def test_duckdbs_errors(con: duckdb.DuckDBPyConnection, sql: str, sqlstate: str, place: str | None) -> None:
    with pytest.raises(duckdb.Error) as raised:
        con.execute(sql).fetchall()
    fields = fields_of(raised.value, sql)
    assert fields.sqlstate == sqlstate
    assert "Error:" not in fields.message
    assert "LINE " not in fields.message
    if place is None:
        assert fields.position is None
    else:
        assert fields.position is not None
        assert sql[fields.position - 1 :].startswith(place)


def test_a_place_without_the_text(con: duckdb.DuckDBPyConnection) -> None:
    for sql, position in (("select nope from t", 8), ("select 1,\nnope from t", None)):
        with pytest.raises(duckdb.BinderException) as raised:
            con.execute(sql)
        assert fields_of(raised.value).position == position
        assert (str(fields_of(raised.value).detail).startswith("LINE 2")) == (position is None)


def test_advice_is_a_hint_and_the_rest_a_detail(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.CatalogException) as raised:
        con.execute("select * from tt")
    fields = fields_of(raised.value)
    assert (fields.severity, fields.message) == ("ERROR", "Table with name tt does not exist!")
    assert fields.hint == 'Did you mean "t"?'
    assert fields_of(ValueError("one\ntwo")).detail == "two"


@pytest.mark.parametrize(
    ("error", "sqlstate", "message"),
    [
        (ProtocolError("no portal", "34000", "Make one."), "34000", "no portal"),
        (TemplateError("no column", "{x}", 1), "22023", "no column"),
        (QuotaError("used up", 5.0), "53400", "used up"),
        (RowsFailedWarning("2 rows failed"), "01000", "2 rows failed"),
        (KeyboardInterrupt(), "57014", "KeyboardInterrupt"),
        (RecursionError("deep"), "54001", "deep"),
        (pa.ArrowInvalid("not in range"), "22003", "not in range"),
        (ZeroDivisionError("oh"), "XX000", "oh"),
        (
            duckdb.TransactionException("TransactionContext Error: Conflict on update!"),
            "40001",
            "Conflict on update!",
        ),
        (duckdb.InterruptException("INTERRUPT Error: Interrupted!"), "57014", "Interrupted!"),
    ],
)
def test_other_errors(error: BaseException, sqlstate: str, message: str) -> None:
    fields = fields_of(error)
    assert (fields.sqlstate, fields.message) == (sqlstate, message)
    assert fields.severity == ("WARNING" if isinstance(error, Warning) else "ERROR")
    if isinstance(error, ProtocolError):
        assert fields.hint == "Make one."


def test_a_caret_of_a_template_is_in_the_detail() -> None:
    assert fields_of(TemplateError("no column", "{x}", 1)).detail == "{x}\n   ^"


def test_a_subclass_has_the_code_of_its_class() -> None:
    class Own(duckdb.BinderException):
        pass

    assert sqlstate_of(Own("x"), "x") == "42000"
