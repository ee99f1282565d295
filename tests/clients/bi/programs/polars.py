"""polars' read_database over connectorx, ADBC, SQLAlchemy and psycopg."""

from __future__ import annotations

import os
from typing import Any

import polars as pl
import psycopg
import sqlalchemy as sa

from tests.clients.bi.programs.checks import Checks

URL = sa.URL.create(
    "postgresql", os.environ["PGUSER"], os.environ["PGPASSWORD"], os.environ["PGHOST"], int(os.environ["PGPORT"]),
    os.environ["PGDATABASE"],
).render_as_string(hide_password=False)  # fmt: skip
checks = Checks(connect=lambda: None, close=lambda con: None)
ORDERS = "SELECT id, customer_id, amount::float8 AS amount, ts, day, note FROM orders ORDER BY id"
PLAIN = (
    "SELECT id, a_smallint, a_bigint, a_real, a_double, a_boolean, a_text, a_date, a_timestamp FROM all_types"
    " WHERE id <> 2 ORDER BY id"
)


def shown(frame: pl.DataFrame) -> Any:
    """The frame's types, shape and first rows."""
    return {name: str(kind) for name, kind in frame.schema.items()}, list(frame.shape), frame.head(5).rows()


@checks
def connectorx(_: Any) -> Any:
    return shown(pl.read_database_uri(ORDERS, URL, engine="connectorx"))


@checks
def connectorx_of_plain_types(_: Any) -> Any:
    return shown(pl.read_database_uri(PLAIN, URL, engine="connectorx"))


@checks
def connectorx_of_other_types(_: Any) -> Any:
    return shown(
        pl.read_database_uri(
            "SELECT id, a_numeric, a_uuid, a_json, a_bytea, a_timestamptz, a_time FROM all_types WHERE"
            " id = 1",
            URL,
            engine="connectorx",
        )
    )


@checks
def connectorx_of_arrays(_: Any) -> Any:
    return shown(
        pl.read_database_uri("SELECT some_integers FROM all_types WHERE id = 2", URL, engine="connectorx")
    )


@checks
def connectorx_in_partitions(_: Any) -> Any:
    """Four connections, each with a range of the key."""
    frame = pl.read_database_uri(
        "SELECT id, note FROM orders", URL, partition_on="id", partition_num=4, engine="connectorx"
    )
    return shown(frame.sort("id"))


@checks
def connectorx_by_cursor(_: Any) -> Any:
    return shown(pl.read_database_uri(ORDERS, f"{URL}?cxprotocol=cursor", engine="connectorx"))


@checks
def connectorx_by_csv(_: Any) -> Any:
    return shown(
        pl.read_database_uri(
            "SELECT id, note FROM orders WHERE id < 9 ORDER BY id",
            f"{URL}?cxprotocol=csv",
            engine="connectorx",
        )
    )


@checks
def adbc(_: Any) -> Any:
    return shown(pl.read_database_uri(ORDERS, URL, engine="adbc"))


@checks
def adbc_of_plain_types(_: Any) -> Any:
    return shown(pl.read_database_uri(PLAIN, URL, engine="adbc"))


@checks
def sqlalchemy(_: Any) -> Any:
    engine = sa.create_engine(URL.replace("postgresql:", "postgresql+psycopg:"))
    try:
        return shown(pl.read_database(ORDERS, engine))
    finally:
        engine.dispose()


@checks
def psycopg_cursor(_: Any) -> Any:
    with psycopg.connect("") as con:
        return shown(pl.read_database(ORDERS, con))


@checks
def psycopg_in_batches(_: Any) -> Any:
    with psycopg.connect("") as con:
        return [len(batch) for batch in pl.read_database(ORDERS, con, iter_batches=True, batch_size=300)]


@checks
def write_by_adbc(_: Any) -> Any:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, 2.5]})
    frame.write_database("polars_frame", URL, engine="adbc", if_table_exists="replace")
    with psycopg.connect("") as con:
        found = con.execute("SELECT * FROM polars_frame ORDER BY a").fetchall()
        con.execute("DROP TABLE polars_frame")
        return found


if __name__ == "__main__":
    checks.run()
