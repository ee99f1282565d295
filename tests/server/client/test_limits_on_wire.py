"""How many connections a user may have, which are kept for admins, and how long a statement may run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from relserve.server.server import Server
from relserve.server.users.users import User
from tests.server.client.rights_scene import client, said, serving
from tests.waiting import wait_until

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
ENDLESS = "SELECT count(*) FROM range(1000000000000000000) a, range(1000000) b WHERE a.range = b.range + 1"
USERS = [
    User("root", is_admin=True), User("ann", connections_at_once=1), User("bob"),
    User("eve", longest_statement_s=0.6),
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("limits")
    limits = {"max_connections": 4, "reserved_connections": 1, "longest_statement_s": 0.9}
    with serving(folder, USERS, **limits) as server:
        yield server


def refused(server: Server, user: str) -> str:
    """What a user is told who comes in vain."""
    with pytest.raises(psycopg.OperationalError) as error:
        client(server, user)
    return str(error.value)


def test_places_are_kept_for_admins_and_users_have_their_number(server):
    with ExitStack() as stack:
        ann = stack.enter_context(client(server, "ann"))
        assert 'too many connections for role "ann": 1' in refused(server, "ann")
        for _ in range(2):
            stack.enter_context(client(server, "bob"))
        assert "remaining connection slots are reserved for admins" in refused(server, "bob")
        root = stack.enter_context(client(server, "root"))
        assert said(root, "SELECT 1") == said(ann, "SELECT 1") == "[(1,)]"
        assert "too many clients already: 4" in refused(server, "root")
    wait_until(lambda: not server.clients())


@pytest.mark.cells(2)
@pytest.mark.parametrize(("user", "limit"), [("bob", "900"), ("eve", "600")])
@pytest.mark.parametrize("timeout", ["0", "1h"])
def test_no_timeout_that_a_user_sets_is_longer_than_theirs(server, user, limit, timeout):
    with client(server, user) as con:
        assert said(con, "SHOW statement_timeout") == f"[('{limit}',)]"
        con.execute(f"SET statement_timeout = '{timeout}'")
        assert said(con, ENDLESS) == "57014 canceling statement due to statement timeout"
