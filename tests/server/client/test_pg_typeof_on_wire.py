"""pg_typeof() says what PostgreSQL says, and can be compared with a regtype."""

from __future__ import annotations

import pytest

from tests.server.client.conftest import Serve, connect

TYPES = [
    ("'x'", "text"),
    ("1", "integer"),
    ("1::smallint", "smallint"),
    ("1.5::numeric", "numeric"),
    ("[1.5::numeric(9,1)]", "numeric[]"),
    ("1.5::float8", "double precision"),
    ("'\\x00'::bytea", "bytea"),
    ("now()::timestamp", "timestamp without time zone"),
    ("localtime", "time without time zone"),
    ("NULL", "unknown"),
]


@pytest.mark.cells(4)
@pytest.mark.parametrize(("value", "name"), TYPES)
def test_pg_typeof_says_what_postgresql_says(serve: Serve, value: str, name: str) -> None:
    con = connect(serve(), autocommit=True)
    text = f"SELECT pg_typeof({value}), pg_typeof({value})::text, {name!r} = pg_typeof({value})::text"
    assert con.execute(text).fetchone() == (name, name, True)


def test_pg_typeof_is_compared_with_a_regtype(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    text = "SELECT pg_typeof(%s) = 'date'::regtype, pg_typeof(a)::regtype = 'int2'::regtype"
    assert con.execute(f"{text} FROM (SELECT 1::int2) t(a)", ("x",)).fetchone() == (False, True)
    text = "SELECT 'int4'::regtype = pg_typeof(1)::regtype, pg_typeof(1)::regtype, pg_typeof(1)::regtype::oid"
    assert con.execute(f"{text}, 23 = pg_typeof(1)::regtype").fetchone() == (True, "integer", 23, True)
