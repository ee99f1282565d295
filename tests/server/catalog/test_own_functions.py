"""PostgreSQL's catalog calls DuckDB's own functions, whatever anybody has defined by their names."""

from pathlib import Path

import duckdb
import pytest

from relserve.server.catalog import attach_catalog
from relserve.server.catalog.qualified import qualified
from relserve.server.catalog.shapes import read_shapes
from relserve.server.users.lockdown import open_locked
from tests.server.catalog.clients import Client, catalog_over
from tests.server.catalog.test_asked_rows import ROWS

_CALLS = ("!~", " like ", "any('{")  # DuckDB calls functions for them, in the client's own text
_ASKED = [(sql, rows) for sql, rows in ROWS if not any(each in sql for each in _CALLS)]
_FUNCTIONS = """
SELECT function_name, bool_or(function_type IN ('table', 'table_macro', 'pragma'))
    FROM duckdb_functions() GROUP BY ALL ORDER BY ALL
"""
_TELL_OF_MACROS = ("pg_proc", "routines", "parameters")
_FILE = "SELECT path FROM duckdb_databases() WHERE database_name = '_pg'"
_SIGNATURES = ", ".join(f"({', '.join('abcdef'[:n])}) AS 'mine'" for n in range(6))


@pytest.fixture(scope="module")
def ask():
    """Asks a database in which somebody has defined every function of DuckDB's, operators too."""
    con = duckdb.connect()
    functions = con.execute(_FUNCTIONS).fetchall()
    catalog = catalog_over(con)
    for name, is_table in functions:
        body = "() AS TABLE SELECT 'mine' AS mine" if is_table else _SIGNATURES
        con.execute(f'CREATE OR REPLACE MACRO main."{name}" {body}')
    return lambda sql: con.cursor().execute(catalog.translate(sql, Client())).fetchall()


@pytest.mark.cells(4)
@pytest.mark.parametrize(("sql", "rows"), _ASKED, ids=[sql[:60] for sql, _ in _ASKED])
def test_a_macro_takes_no_functions_place(ask, sql, rows):
    assert ask(sql) == rows


@pytest.mark.long
def test_every_relation_of_the_catalog_is_read_beside_such_macros(ask):
    con = duckdb.connect()
    plain = catalog_over(con)
    for shape in read_shapes():
        sql = f'SELECT * FROM {shape.schema}."{shape.name}"'
        rows = con.execute(plain.translate(sql, Client())).fetchall()
        found = ask(sql)
        assert len(found) >= len(rows), sql
        assert "mine" not in str(found) or shape.name in _TELL_OF_MACROS, sql


def test_who_is_connected_is_asked_of_the_connection_itself(ask):
    assert ask("select * from pg_stat_activity") == []


QUALIFIED = [
    ("lower(n), n", "system.main.lower(n), n"),
    ("a || 'x' LIKE b", 'system.main."~~"(system.main."||"(a, \'x\'), b)'),
    ("n[1]", "system.main.array_extract(n, 1)"),
    ("n[2:-2]", "system.main.array_slice(n, 2, -2)"),
    ("(n).x", "system.main.struct_extract(n, 'x')"),
    ("[n, {'a': -n}]", 'system.main.list_value(n, system.main.struct_pack(a := system.main."-"(n)))'),
    ("sum(n) OVER (ORDER BY m)", "system.main.sum(n) OVER (ORDER BY m)"),
    ("_pg.own.lower(n)", None),
    ("'lower(n)' -- upper(n)", "'lower(n)'"),
]


@pytest.mark.parametrize(("sql", "wanted"), QUALIFIED)
def test_what_duckdb_calls_is_named_in_full(sql, wanted):
    head = "CREATE MACRO _pg.own.f(n) AS "
    found = qualified(f"{head}TABLE SELECT {sql}").replace('"system"', "system")
    assert found == f"{head}TABLE SELECT {wanted or sql};\n"
    if ", n" not in sql[-3:]:
        assert qualified(f"{head}{sql};").replace('"system"', "system") == f"{head}{wanted or sql};\n"
    assert qualified(f"CREATE TABLE t AS SELECT {sql}") == f"CREATE TABLE t AS SELECT {sql}"


def test_nothing_can_be_made_in_the_catalog() -> None:
    with open_locked(":memory:", prepare=attach_catalog) as con:
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("CREATE TABLE _pg.own.mine AS SELECT 1")
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("DROP MACRO TABLE _pg.cat.pg_class")


def test_a_server_that_is_killed_leaves_no_file_of_it() -> None:
    one, two = (open_locked(":memory:", prepare=attach_catalog) for _ in range(2))
    with one, two:
        for con in (one, two):
            ((path,),) = con.execute(_FILE).fetchall()
            assert not Path(path).parent.exists()
            assert con.execute("SELECT count(*) > 100 FROM _pg.own.catalog_relations").fetchone() == (True,)
        with pytest.raises(duckdb.PermissionException):
            two.execute("ATTACH 'other.duckdb'")
