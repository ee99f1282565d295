"""What DuckDB's parser does not tell: names as strings, and statements of which it shows no names."""

from __future__ import annotations

import duckdb
import pytest
from duckdb import StatementType as Type

from relserve.errors import ForbiddenError
from relserve.server.rights.definitions import read_definition
from relserve.server.rights.found import Finder
from relserve.server.rights.look import RightsLook
from relserve.server.rights.policy import Rights, RightsEntry, Thing, Who
from relserve.server.users.long_texts import LONG

ANN = Who("ann")


@pytest.mark.parametrize("name", ["'orders'", "$$orders$$", "main.'orders'"])
def test_a_name_is_no_string(name: str) -> None:
    assert read_definition('DROP TABLE "orders"').names == [("orders",)]
    with pytest.raises(ForbiddenError, match="not as strings"):
        read_definition(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO shown SELECT 9 FROM (PIVOT mine ON x USING count(*))", Type.MULTI),
        ("WITH s AS (SELECT 9) MERGE INTO shown USING s ON false WHEN MATCHED THEN DELETE", Type.MERGE_INTO),
        ("WITH s AS (DELETE FROM shown RETURNING a) SELECT * FROM s, (PIVOT mine ON x)", Type.MULTI),
        ("SET VARIABLE x = (SELECT max(bin) FROM histogram('sho' || 'wn', a))", Type.SET),
    ],
)
def test_who_may_read_may_not_change(text: str, kind: Type) -> None:
    with duckdb.connect() as con:
        for name in ("shown", "mine", "hidden"):
            con.execute(f"CREATE TABLE {name} AS SELECT 1 AS a")
        granted = {"shown": {"ann": frozenset(["SELECT"])}, "hidden": {"bob": frozenset(["SELECT"])}}
        entries = {Thing("table", "main", name): RightsEntry(None, each) for name, each in granted.items()}
        found = Finder(con, "memory", lambda read: read())
        look = RightsLook(found, Rights(entries), ANN, Who)
        look.check(look.sought("PIVOT shown ON a", "pivot", Type.MULTI), ANN)
        with pytest.raises(ForbiddenError, match="permission denied"):
            look.check(look.sought(text, text.split()[0].lower(), kind), ANN)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("UPDATE shown SET a = 2 RETURNING a", "SELECT"), ("DELETE FROM shown WHERE a = 1", "SELECT"),
        ("UPDATE shown SET a = 2", ""), ("INSERT INTO shown VALUES ('where x returning y')", ""),
        ("INSERT INTO shown VALUES (1) ON CONFLICT DO UPDATE SET a = 2", "UPDATE"),
    ],
)  # fmt: skip
def test_long_texts_need_what_short_ones_need(text: str, needed: str) -> None:
    verb = text.split()[0]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE shown AS SELECT 1 AS a")
        look_of = {
            rights: RightsLook(
                Finder(con, "memory", lambda read: read()),
                Rights({Thing("table", "main", "shown"): RightsEntry(None, {"ann": frozenset(rights)})}),
                ANN,
                Who,
            )
            for rights in [(verb,), (verb, needed)]
        }
        for rights, look in look_of.items():
            needs = look.sought(f"{text} -- {'x' * LONG}", verb.lower(), Type[verb])
            if needed and needed not in rights:
                with pytest.raises(ForbiddenError, match="permission denied"):
                    look.check(needs, ANN)
            else:
                look.check(needs, ANN)
