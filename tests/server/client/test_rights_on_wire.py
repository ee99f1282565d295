"""GRANT and REVOKE over the wire: who may read and change what, whichever way a statement says it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from relserve.server.server import Server
from tests.server.client.rights_scene import Client, client, said, serving

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
DENIED = "42501 permission denied for table secret"


@pytest.fixture
def root(rights_server: Server) -> Iterator[Client]:
    """An admin, whose tables are gone after the test."""
    with client(rights_server, "root") as con:
        yield con
        for kind in ("view", "table"):
            for (name,) in con.execute(
                f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"
            ).fetchall():
                con.execute(f'DROP {kind} IF EXISTS "{name}"')


@pytest.fixture
def ann(rights_server: Server) -> Iterator[Client]:
    with client(rights_server, "ann") as con:
        yield con


@pytest.fixture
def bob(rights_server: Server) -> Iterator[Client]:
    with client(rights_server, "bob") as con:
        yield con


def test_a_table_is_everybodys_until_something_is_granted_on_it(root, ann, bob):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    assert said(bob, "FROM secret") == "[(1,)]"
    assert said(root, "GRANT SELECT ON secret TO ann") == "GRANT"
    assert said(ann, "FROM secret") == "[(1,)]"
    assert said(ann, "INSERT INTO secret VALUES (2)") == DENIED
    assert said(bob, "FROM secret") == DENIED
    assert said(root, "REVOKE SELECT ON secret FROM ann") == "REVOKE"
    assert said(ann, "FROM secret") == DENIED
    assert said(root, "GRANT ALL ON secret TO PUBLIC") == "GRANT"
    assert said(bob, "DELETE FROM secret") == "DELETE 1"


def test_a_view_reads_with_its_owners_rights_once_it_is_granted(root, ann, bob):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("CREATE VIEW v AS SELECT a FROM secret")
    root.execute("GRANT SELECT ON secret TO ann")
    assert said(bob, "FROM v") == DENIED
    root.execute("GRANT SELECT ON v TO bob")
    assert said(bob, "FROM v") == "[(1,)]"
    assert said(ann, "FROM v") == "42501 permission denied for view v"


@pytest.mark.long
def test_a_users_view_reads_no_more_than_its_user(root, ann, bob):
    ann.execute("CREATE TABLE passing AS SELECT 1 AS a")
    ann.execute("CREATE VIEW v AS FROM passing")
    ann.execute("GRANT SELECT ON v TO bob")
    ann.execute("DROP TABLE passing")
    root.execute("CREATE TABLE passing AS SELECT 2 AS a")
    root.execute("GRANT SELECT ON passing TO reader")
    assert said(bob, "FROM v") == said(ann, "FROM v") == "42501 permission denied for table passing"


def test_a_search_path_leads_a_view_to_no_other_table(root, bob):
    root.execute("CREATE SCHEMA IF NOT EXISTS own")
    root.execute("CREATE SCHEMA IF NOT EXISTS hid")
    root.execute("CREATE TABLE own.t AS SELECT 1 AS a")
    root.execute("CREATE TABLE hid.t AS SELECT 2 AS a")
    root.execute("SET search_path = own")
    root.execute("CREATE VIEW main.v AS FROM t")
    root.execute("RESET search_path")
    root.execute("GRANT SELECT ON v TO bob")
    root.execute("REVOKE ALL ON hid.t FROM PUBLIC")
    bob.execute("SET search_path = hid")
    assert said(bob, "FROM main.v") == "42501 permission denied for table t"
    root.execute("DROP SCHEMA hid CASCADE")
    root.execute("DROP SCHEMA own CASCADE")


@pytest.mark.long
def test_rights_are_undone_with_their_transaction(root, ann):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("REVOKE ALL ON secret FROM PUBLIC")
    with root.transaction(force_rollback=True):
        root.execute("GRANT SELECT ON secret TO ann")
        root.execute("DROP TABLE secret")
    assert said(ann, "FROM secret") == DENIED
    with root.transaction():
        root.execute("GRANT SELECT ON secret TO ann")
        assert said(ann, "FROM secret") == DENIED
    assert said(ann, "FROM secret") == "[(1,)]"


@pytest.mark.long
def test_rights_go_with_the_name_of_a_table_and_end_with_it(root, ann, bob):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("GRANT SELECT ON secret TO ann")
    root.execute("ALTER TABLE secret RENAME TO hidden")
    assert said(bob, "FROM hidden") == "42501 permission denied for table hidden"
    root.execute("DROP TABLE hidden")
    ann.execute("CREATE TABLE hidden AS SELECT 2 AS a")
    assert said(bob, "FROM hidden") == "[(2,)]"
    assert said(ann, "REVOKE ALL ON hidden FROM PUBLIC") == "REVOKE"
    assert said(bob, "FROM hidden") == "42501 permission denied for table hidden"


def test_only_owners_and_admins_grant(root, ann, bob):
    ann.execute("CREATE TABLE t AS SELECT 1 AS a")
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("GRANT SELECT ON secret TO eve")
    assert said(bob, "REVOKE ALL ON t FROM PUBLIC") == "REVOKE"  # with a warning, as PostgreSQL
    assert said(bob, "FROM t") == "[(1,)]"
    assert said(bob, "GRANT ALL ON secret TO bob") == DENIED
    assert said(ann, "GRANT SELECT ON t TO eve") == "GRANT"
    assert said(bob, "FROM t") == "42501 permission denied for table t"
    assert said(bob, "CREATE ROLE x") == "42501 permission denied to create role"


def test_roles_hand_their_rights_on(root, ann, bob):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("CREATE ROLE analysts")
    root.execute("CREATE ROLE trainees IN ROLE analysts")
    root.execute("GRANT SELECT ON secret TO analysts")
    root.execute("GRANT trainees TO ann")
    assert said(ann, "FROM secret") == "[(1,)]"
    assert said(bob, "FROM secret") == DENIED
    assert said(root, "GRANT analysts TO trainees") == "GRANT ROLE"
    assert said(root, "GRANT trainees TO analysts").startswith("0LP01 ")
    root.execute("REVOKE trainees FROM ann")
    assert said(ann, "FROM secret") == DENIED
    assert said(root, "DROP ROLE analysts").startswith("2BP01 ")
    root.execute("REVOKE SELECT ON secret FROM analysts")
    assert said(root, "DROP ROLE analysts, trainees") == "DROP ROLE"


def test_a_role_has_a_name_that_nobody_else_has(root):
    root.execute("CREATE ROLE clerks")
    for name in ("clerks", "ann"):
        assert said(root, f"CREATE ROLE {name}") == f'42710 role "{name}" already exists'
    for name in ("public", "pg_clerks", "pg_read_all_data"):
        assert said(root, f"CREATE ROLE {name}") == f'42939 role name "{name}" is reserved'
    assert said(root, "DROP ROLE clerks") == "DROP ROLE"


def test_a_read_only_user_changes_nothing(root, rights_server):
    root.execute("CREATE TABLE t AS SELECT 1 AS a")
    with client(rights_server, "reader") as reader:
        assert said(reader, "FROM t") == "[(1,)]"
        for text in ("INSERT INTO t VALUES (2)", "DELETE FROM t", "COPY t FROM STDIN"):
            assert said(reader, text) == "42501 permission denied for table t"
        assert said(reader, "DROP TABLE t") == "42501 must be owner of table t"
        assert said(reader, "CREATE TABLE u (a INT)") == "42501 permission denied for schema main"
        assert said(reader, "CREATE TEMP TABLE u (a INT)") == "CREATE TABLE"


def test_a_prepared_statement_is_judged_each_time(root, ann):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("GRANT SELECT ON secret TO ann")
    text = "SELECT a FROM secret WHERE a = %s"
    assert ann.execute(text, [1], prepare=True).fetchall() == [(1,)]
    root.execute("REVOKE SELECT ON secret FROM ann")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ann.execute(text, [1])


def test_a_name_is_another_one_where_only_unicode_says_they_are_equal(root, ann):
    root.execute("CREATE TABLE key AS SELECT 1 AS a")
    root.execute("REVOKE ALL ON key FROM PUBLIC")
    ann.execute('CREATE TABLE "\u212aey" AS SELECT 2 AS a')
    ann.execute('GRANT ALL ON "\u212aey" TO ann')
    assert said(ann, "FROM key") == "42501 permission denied for table key"
    ann.execute('DROP TABLE "\u212aey"')


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM secret WHERE a IN ({})", "SELECT * FROM 'secret' WHERE a IN ({})",
        "-- insert into mine\nINSERT INTO secret SELECT 1 WHERE 1 IN ({})",
        "DELETE FROM secret WHERE a IN ({})",
        "INSERT INTO mine SELECT a FROM secret WHERE 1 IN ({})", "SELECT sm() WHERE 1 IN ({})",
    ],
)  # fmt: skip
def test_long_texts_are_judged_too(root, ann, text):
    root.execute("CREATE TABLE secret AS SELECT 1 AS a")
    root.execute("CREATE OR REPLACE MACRO sm() AS (SELECT max(a) FROM secret)")
    root.execute("REVOKE ALL ON secret FROM PUBLIC")
    ann.execute("CREATE TABLE mine (a INT)")
    many = f"1, length('{'x' * 300_000}')"
    assert said(ann, text.format(many)) == DENIED
    assert said(ann, f"INSERT INTO mine SELECT 1 WHERE 1 IN ({many})") == "INSERT 0 1"


def test_rights_outlive_the_server_and_end_with_the_user(tmp_path):
    with serving(tmp_path) as server, client(server, "root") as root:
        root.execute("CREATE TABLE secret AS SELECT 1 AS a")
        root.execute("GRANT SELECT ON secret TO ann")
    with serving(tmp_path) as server, client(server, "ann") as ann, client(server, "bob") as bob:
        assert said(ann, "FROM secret") == "[(1,)]"
        assert said(bob, "FROM secret") == DENIED


def test_the_documentation_is_right(root, ann, bob, rights_server):
    page = (Path(__file__).parents[3] / "docs" / "rights.md").read_text("utf-8")
    for text in (
        "CREATE TABLE orders AS SELECT 'de' AS country, 2 AS price",
        "CREATE TABLE customers AS SELECT 1 AS id",
    ):
        root.execute(text)
    for text in page.split("```psql\n")[1].split("```")[0].split(";")[:-1]:
        root.execute(text)
    root.execute("CREATE TABLE hr.salaries AS SELECT 1 AS salary")
    assert said(ann, "UPDATE orders SET price = 3") == "UPDATE 1"
    assert said(ann, "DELETE FROM orders") == "42501 permission denied for table orders"
    assert said(bob, "SELECT * FROM orders, customers") == "[('de', 3, 1)]"
    assert said(bob, "FROM hr.salaries") == "42501 permission denied for schema hr"
    with client(rights_server, "reader") as reader:
        assert said(reader, "FROM turnover") == "[('de', Decimal('3'))]"
        assert said(reader, "FROM orders") == "42501 permission denied for table orders"
    for text in ("DROP SCHEMA hr CASCADE", "DROP VIEW turnover", "DROP TABLE orders", "DROP TABLE customers"):
        root.execute(text)
    root.execute("DROP ROLE analysts")
