"""PostgreSQL's catalog calls DuckDB's own functions, whatever anybody has defined by their names."""

import re

import duckdb
import pytest

from relserve.server.catalog import attach_catalog
from relserve.server.catalog.build import _PARTS, _SQL
from relserve.server.catalog.qualified import qualified
from relserve.server.users.lockdown import open_locked
from tests.server.catalog.clients import Client, catalog_over
from tests.server.catalog.test_asked_rows import ROWS

_ASKED = [(sql, rows) for sql, rows in ROWS if "!~" not in sql]  # DuckDB calls a function for it in the text
_CALLED = re.compile(r"system\.main\.(\w+)\(")
_FILE = "SELECT path FROM duckdb_databases() WHERE database_name = '_pg'"
_SIGNATURES = ", ".join(f"({', '.join('abcdef'[:n])}) AS 'mine'" for n in range(6))


def called() -> list[str]:
    """The functions that the catalog's macros call by their bare names."""
    texts = [_SQL.joinpath(f"{part}.sql").read_text("utf-8") for part in _PARTS]
    return sorted({name for text in texts for name in _CALLED.findall(qualified(text))})


@pytest.fixture(scope="module")
def ask():
    con = duckdb.connect()
    catalog = catalog_over(con)
    tables = [name for name in called() if name.startswith(("duckdb_", "pragma_"))]
    for name in tables:
        con.execute(f"CREATE MACRO main.{name}() AS TABLE SELECT 'mine' AS mine")
    for name in set(called()) - set(tables):
        con.execute(f'CREATE MACRO main."{name}" {_SIGNATURES}')
    return lambda sql: con.cursor().execute(catalog.translate(sql, Client())).fetchall()


@pytest.mark.parametrize(("sql", "rows"), _ASKED, ids=[sql[:60] for sql, _ in _ASKED])
def test_a_macro_takes_no_functions_place(ask, sql, rows):
    assert ask(sql) == rows


def test_who_is_connected_is_asked_of_the_connection_itself(ask):
    assert ask("select * from pg_stat_activity") == []
    assert "current_connection_id" in called()


QUALIFIED = [
    ("SELECT lower(n), a.sum(1)", "SELECT system.main.lower(n), a.sum(1)"),
    ("SELECT * REPLACE (1 AS a) FROM (VALUES (1)) range (a)", None),
    ("SELECT 'lower(n)' -- upper(n)", None),
    ("CREATE MACRO _pg.own.lower(n) AS sum(n)", "CREATE MACRO _pg.own.lower(n) AS system.main.sum(n)"),
]


@pytest.mark.parametrize(("sql", "wanted"), QUALIFIED)
def test_only_calls_are_qualified(sql, wanted):
    assert qualified(sql) == (wanted or sql)


def test_nothing_can_be_made_in_the_catalog() -> None:
    with open_locked(":memory:", prepare=attach_catalog) as con:
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("CREATE TABLE _pg.own.mine AS SELECT 1")
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("DROP MACRO TABLE _pg.cat.pg_class")


def test_servers_of_one_process_read_one_file() -> None:
    one, two = (open_locked(":memory:", prepare=attach_catalog) for _ in range(2))
    with one, two:
        files = {con.execute(_FILE).fetchone() for con in (one, two)}
        with pytest.raises(duckdb.PermissionException):
            two.execute("ATTACH 'other.duckdb'")
    assert len(files) == 1
