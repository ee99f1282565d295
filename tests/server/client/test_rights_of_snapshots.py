"""A transaction sees what was there as it began: rights hold for that, whatever others have done since."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from relserve.server.client.changes import CATALOG
from relserve.server.rights.policy import Change, Created, Dropped, Renamed, Thing
from relserve.server.rights.store import RightsStore
from relserve.server.server import Server
from tests.server.client.rights_scene import Client, client, said

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
DENIED = "42501 permission denied for table secret"
SHOWN = Thing("table", "main", "shown")


def test_a_macro_that_another_client_replaced_is_judged_as_it_is(rights_server: Server, eve: Client) -> None:
    with client(rights_server, "eve") as other:
        other.execute("CREATE OR REPLACE MACRO m() AS 'nothing'")
        eve.execute("BEGIN")
        eve.execute("FROM shown")
        other.execute("CREATE OR REPLACE MACRO m() AS (SELECT max(a) FROM secret)")
        assert said(eve, "SELECT m()") == "[('nothing',)]"  # as the transaction began
        eve.execute("COMMIT")
        assert said(eve, "SELECT m()") == DENIED


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE secret",
        "ALTER TABLE secret RENAME TO secret_old",
        "CREATE OR REPLACE TABLE secret (b INT)",
    ],
)
def test_what_is_gone_for_others_stays_hidden(eve: Client, root: Client, change: str) -> None:
    eve.execute("BEGIN")
    eve.execute("FROM shown")
    root.execute(change)
    assert said(eve, "FROM secret") == DENIED
    eve.execute("ROLLBACK")
    root.execute("DROP TABLE IF EXISTS secret_old")


@pytest.mark.parametrize(
    "then", ["FROM shown", "SET search_path = main", "SET TRANSACTION READ ONLY; FROM shown"]
)
def test_what_was_renamed_twice_since_begin_stays_hidden(eve: Client, root: Client, then: str) -> None:
    eve.execute("BEGIN")
    root.execute("ALTER TABLE secret RENAME TO swapped")
    eve.execute(then)  # as DuckDB first looks
    root.execute("ALTER TABLE swapped RENAME TO secret")
    assert said(eve, "FROM swapped").startswith("42")
    eve.execute("ROLLBACK")


def test_changes_are_announced_while_they_come_to_hold_and_no_longer(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[list[Change]] = []
    announcing = RightsStore.announcing

    def listening(store: RightsStore, database: str, changes: list[Change]) -> AbstractContextManager[None]:
        announced.append(changes)
        return announcing(store, database, changes)

    monkeypatch.setattr(RightsStore, "announcing", listening)
    before = CATALOG.latest
    root.execute("BEGIN")
    root.execute("DROP TABLE shown")
    root.execute("CREATE TABLE shown AS SELECT 1 AS x")  # may ask for hours, and others are judged meanwhile
    assert not announced
    assert CATALOG.latest is not before
    root.execute("COMMIT")
    assert announced == [[Dropped(SHOWN), Created(SHOWN, None)]]
    root.execute("DROP TABLE shown")
    assert announced[1:] == [[Dropped(SHOWN)]]


def test_a_grant_holds_from_the_next_transaction_and_a_revoke_at_once(eve: Client, root: Client) -> None:
    eve.execute("BEGIN")
    eve.execute("FROM shown")
    root.execute("GRANT SELECT ON secret TO eve")
    assert said(eve, "FROM secret") == DENIED
    eve.execute("ROLLBACK")
    assert said(eve, "FROM secret") == "[('hidden',)]"
    eve.execute("BEGIN")
    assert said(eve, "FROM secret") == "[('hidden',)]"
    root.execute("REVOKE SELECT ON secret FROM eve")
    assert said(eve, "FROM secret") == DENIED
    eve.execute("ROLLBACK")


def test_tables_of_the_own_transaction_are_the_owners(eve: Client) -> None:
    eve.execute("BEGIN")
    eve.execute("CREATE TABLE mine AS SELECT 1 AS x")
    eve.execute("REVOKE ALL ON mine FROM PUBLIC")
    eve.execute("ALTER TABLE mine RENAME TO mine_too")
    assert said(eve, "FROM mine_too") == "[(1,)]"
    assert said(eve, "DROP TABLE mine_too") == "DROP TABLE"
    eve.execute("COMMIT")


def test_while_a_rename_is_committed_its_new_name_is_hidden(
    rights_server: Server, eve: Client, root: Client
) -> None:
    renamed = Renamed(Thing("table", "main", "secret"), SHOWN)
    assert rights_server.rights is not None
    with rights_server.rights.announcing("shop", [renamed]):
        assert said(eve, "FROM shown") == "42501 permission denied for table shown"
    assert said(eve, "FROM shown") == "[(1,)]"
