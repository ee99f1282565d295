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
