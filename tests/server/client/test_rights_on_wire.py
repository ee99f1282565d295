"""GRANT and REVOKE over the wire: who may read and change what, whichever way a statement says it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from relserve.server.server import Server
from tests.server.client.rights_scene import client, said, serving

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
Client = psycopg.Connection[Any]
DENIED = "42501 permission denied for table secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("rights")) as server:
        yield server


@pytest.fixture
def root(server: Server) -> Iterator[Client]:
    """An admin, whose tables are gone after the test."""
    with client(server, "root") as con:
        yield con
        for kind in ("view", "table"):
            for (name,) in con.execute(
                f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"
            ).fetchall():
                con.execute(f'DROP {kind} IF EXISTS "{name}"')


@pytest.fixture
def ann(server: Server) -> Iterator[Client]:
    with client(server, "ann") as con:
        yield con


@pytest.fixture
def bob(server: Server) -> Iterator[Client]:
    with client(server, "bob") as con:
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
