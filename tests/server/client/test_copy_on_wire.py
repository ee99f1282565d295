"""COPY over the wire, both ways and in all formats."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import psycopg
import pytest

from relserve.server.wire.copy_reader import CopyReader, Row
from tests.server.client.conftest import Serve, connect

ROWS = [
    (1, "plain", dt.date(2024, 1, 2), Decimal("1.50"), True, b"\x00\xff", [1, 2]),
    (2, 'tab\t, "quote", \\ and\nnewline', None, Decimal("-2.25"), False, b"", []),
    (3, None, dt.date(1999, 12, 31), None, None, None, None),
]
TABLE = "CREATE TABLE t (a INTEGER, b VARCHAR, c DATE, d DECIMAL(8, 2), e BOOLEAN, f BLOB, g INTEGER[])"
TYPES = ["int4", "text", "date", "numeric", "bool", "bytea", "int4[]"]


def filled(con: psycopg.Connection, options: str, is_binary: bool = False) -> list[tuple[object, ...]]:
    """The table after COPY has put the rows into it."""
    con.execute(TABLE)
    with con.cursor().copy(f"COPY t FROM STDIN {options}") as copy:
        if is_binary:
            copy.set_types(TYPES)
        for row in ROWS:
            copy.write_row(row)
    return con.execute("SELECT * FROM t ORDER BY a").fetchall()


def test_text_goes_in_and_out(serve: Serve) -> None:
    con = connect(serve())
    assert filled(con, "") == ROWS
    with con.cursor().copy("COPY (SELECT * FROM t ORDER BY a) TO STDOUT") as copy:
        copy.set_types(TYPES)
        assert list(copy.rows()) == ROWS


def test_binary_goes_in_and_out(serve: Serve) -> None:
    con = connect(serve())
    assert filled(con, "(FORMAT binary)", is_binary=True) == ROWS
    with con.cursor().copy("COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(TYPES)
        assert list(copy.rows()) == ROWS


def test_csv_with_a_header(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    with con.cursor().copy("COPY t (b, a) FROM STDIN WITH CSV HEADER") as copy:
        copy.write('b,a\n"one, two",1\n')
        copy.write(",2\n")
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "one, two"), (2, None)]


@pytest.mark.long
def test_many_rows(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    with con.cursor().copy("COPY t FROM STDIN") as copy:
        for i in range(70_000):
            copy.write(f"{i}\tx{i}\n")
    assert con.execute("SELECT count(*), sum(a), max(b) FROM t").fetchone() == (70_000, 2449965000, "x9999")


def test_rows_of_one_large_message_are_made_in_parts(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, 256 MiB of newlines would be 268 million lists."""
    monkeypatch.setattr("relserve.server.client.copying.INSERT_ROWS", 1000)
    most, feed = 0, CopyReader.feed

    def counted(reader: CopyReader, data: bytes) -> list[Row]:
        nonlocal most
        rows = feed(reader, data)
        most = max(most, len(rows))
        return rows

    monkeypatch.setattr(CopyReader, "feed", counted)
    monkeypatch.setattr("relserve.server.client.copying.PIECE", 1001)
    con = connect(serve())
    con.execute("CREATE TABLE t (b VARCHAR)")
    data = "grüße\n" * 2000  # a piece ends within a character
    with con.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write(data)
    assert con.execute("SELECT count(*), min(b), max(b) FROM t").fetchone() == (2000, "grüße", "grüße")
    assert 0 < most < 200


def test_a_bad_row_takes_none(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(psycopg.Error), con.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write("1\n2\nthree\n")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_client_that_gives_up_takes_none(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(ValueError, match="no more"), con.cursor().copy("COPY t FROM STDIN") as copy:  # noqa: PT012
        copy.write("1\n")
        raise ValueError("no more")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_llm_answers_are_copied_out(serve: Serve) -> None:
    con = connect(serve(cache=False))
    text = "SELECT range, llm('Say {}', range) FROM range(50) ORDER BY 1"
    rows = con.execute(text).fetchall()
    with con.cursor().copy(f"COPY ({text}) TO STDOUT") as copy:
        copy.set_types(["int8", "text"])
        assert list(copy.rows()) == rows


def test_files_are_refused(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        con.execute("COPY (SELECT 1) TO '/tmp/never.csv'")
