"""What Npgsql sends when it connects, and Power BI by it: the recorded texts of tests/server/catalog."""

from __future__ import annotations

import psycopg
import pytest

from relserve.server.wire.types import INT2VECTOR, KNOWN, OIDVECTOR, UNKNOWN
from tests.server.catalog.recorded import recorded
from tests.server.client.conftest import Serve, connect

# The arrays that a result may be; PostgreSQL, too, gives those of vectors in any order with their elements.
ARRAYS = {known.array for oid, known in KNOWN.items() if oid not in (UNKNOWN, INT2VECTOR, OIDVECTOR)}
TEXTS = {text.id: text.sql for text in recorded() if text.id.startswith("npgsql")}
VIEW = """
    CREATE TYPE mood AS ENUM ('sad', 'ok');
    CREATE TABLE reviews AS SELECT i AS id, 'review ' || i AS review, 'ok'::mood AS mood FROM range(40) t(i);
    CREATE VIEW judged AS SELECT id, llm_filter('Is {review} good?', review) AS good FROM reviews
"""


def texts_of(what: str) -> list[str]:
    """The recorded texts whose id has these words, in their order."""
    return [sql for name, sql in TEXTS.items() if what in name]


@pytest.mark.cells(1)
@pytest.mark.parametrize("release", ["4.0", "9"])
def test_the_types_are_loaded_in_one_round_trip(serve: Serve, release: str) -> None:
    con = connect(serve(), autocommit=True)
    con.execute(VIEW)
    with con.pipeline():
        loaded = [con.execute(sql) for sql in texts_of(f" {release}, ")]
    types, composites, labels = (cursor.fetchall() for cursor in loaded)
    names = [column.name for column in loaded[0].description or ()]
    seen: dict[int, str] = {}
    for row in types:
        told = dict(zip(names, row, strict=True))
        element = told.get("elemoid", told.get("elemtypoid"))
        if told["oid"] in ARRAYS or told["typname"] == "_mood":
            assert element in seen, told  # Npgsql skips an array whose element has not come before it
        seen[told["oid"]] = told["typname"]
    assert {"int4", "text", "_text", "numeric", "json", "int4range", "mood", "_mood"} <= {*seen.values()}
    assert composites == []
    assert [(seen[oid], label) for oid, label in labels] == [("mood", "sad"), ("mood", "ok")]
    assert con.execute("DISCARD ALL").statusmessage == "DISCARD ALL"


def test_power_bi_finds_a_view_that_asks_and_reads_it(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute(VIEW)
    found = [con.execute(sql.replace("'orders'", "'judged'")).fetchall() for sql in texts_of("Power BI")]
    sets, tables, columns, *keys = found
    assert sets == [("UTF8",)]
    assert tables == [("main", "judged", "VIEW"), ("main", "reviews", "BASE TABLE")]
    assert columns == [("id", 1, "YES", "bigint"), ("good", 2, "YES", "boolean")]
    assert keys == [[], [], []]
    preview = 'select "$Table"."id",\n    "$Table"."good"\nfrom "main"."judged" "$Table"\nlimit 10'
    assert len(con.execute(preview).fetchall()) == 10
    grouped = (
        'select "rows"."good" as "good",\n    count(*) as "a0"\nfrom \n(\n    select "_"."id",\n'
        '        "_"."good"\n'
        '    from "main"."judged" "_"\n    where "_"."id" < 20\n) "rows"\ngroup by "good"\nlimit 1000001'
    )
    assert sum(count for _, count in con.execute(grouped).fetchall()) == 20
    with pytest.raises(psycopg.errors.InvalidSchemaName):
        con.execute('select * from "public"."judged" "_" limit 1')
