"""ADBC's PostgreSQL driver: Arrow tables over COPY in binary, its catalog, ingestion."""

from __future__ import annotations

import os
from typing import Any

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import sqlalchemy as sa

from tests.clients.bi.programs.checks import Checks

URL = sa.URL.create(
    "postgresql", os.environ["PGUSER"], os.environ["PGPASSWORD"], os.environ["PGHOST"], int(os.environ["PGPORT"]),
    os.environ["PGDATABASE"],
).render_as_string(hide_password=False)  # fmt: skip
checks = Checks(connect=lambda: adbc_driver_postgresql.dbapi.connect(URL))


def asked(con: Any, sql: str, parameters: Any = None) -> pa.Table:
    """A statement's rows."""
    with con.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetch_arrow_table()


def shown(table: pa.Table) -> Any:
    """The table's types and rows."""
    return (
        {field.name: str(field.type) for field in table.schema},
        table.num_rows,
        table.slice(0, 20).to_pylist(),
    )


@checks
def orders(con: Any) -> Any:
    return shown(asked(con, "SELECT id, customer_id, ts, day, note FROM orders ORDER BY id"))


@checks
def numbers(con: Any) -> Any:
    return shown(
        asked(con, "SELECT id, a_smallint, a_bigint, a_real, a_double, a_boolean FROM all_types ORDER BY id")
    )


@checks
def numeric(con: Any) -> Any:
    """As text, for an Arrow decimal is narrower than PostgreSQL's numeric."""
    return shown(asked(con, "SELECT id, a_numeric FROM all_types ORDER BY id"))


@checks
def texts_and_bytes(con: Any) -> Any:
    return shown(asked(con, "SELECT id, a_text, a_bytea, a_json, a_uuid FROM all_types ORDER BY id"))


@checks
def times(con: Any) -> Any:
    return shown(
        asked(
            con,
            "SELECT id, a_date, a_time, a_timestamp, a_timestamptz FROM all_types WHERE id <> 3 ORDER BY id",
        )
    )


@checks
def interval(con: Any) -> Any:
    return shown(asked(con, "SELECT id, an_interval FROM all_types WHERE id <> 3 ORDER BY id"))


@checks
def arrays(con: Any) -> Any:
    return shown(asked(con, "SELECT id, some_integers, some_texts FROM all_types ORDER BY id"))


@checks
def aggregates(con: Any) -> Any:
    return shown(
        asked(
            con, "SELECT count(*) AS n, min(ts) AS first, max(note) AS last, avg(id)::float8 AS a FROM orders"
        )
    )


@checks
def without_copy(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        cursor.execute("SELECT id, note, ts FROM orders WHERE id < 12 ORDER BY id")
        return shown(cursor.fetch_arrow_table())


@checks
def parameters(con: Any) -> Any:
    return shown(
        asked(con, "SELECT id, note FROM orders WHERE id < $1 AND note <> $2 ORDER BY id", (5, "note 2"))
    )


@checks
def executemany(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (a BIGINT, b TEXT)")
        cursor.executemany("INSERT INTO t VALUES ($1, $2)", [(1, "x"), (2, "y")])
        cursor.execute("SELECT * FROM t ORDER BY a")
        return cursor.fetchall()


@checks
def fetch_in_batches(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("SELECT i FROM generate_series(1, 100000) AS t(i)")
        return sum(batch.num_rows for batch in cursor.fetch_record_batch())


@checks
def get_objects(con: Any) -> Any:
    found = (
        con.adbc_get_objects(depth="columns", catalog_filter="bi", db_schema_filter="main")
        .read_all()
        .to_pylist()
    )
    tables = found[0]["catalog_db_schemas"][0]["db_schema_tables"]
    return sorted(
        ((t["table_name"], t["table_type"], sorted((c["ordinal_position"], c["column_name"]) for c in t["table_columns"])) for t in tables),
        key=str,
    )  # fmt: skip


@checks
def get_constraints(con: Any) -> Any:
    found = (
        con.adbc_get_objects(
            depth="all", catalog_filter="bi", db_schema_filter="main", table_name_filter="order%"
        )
        .read_all()
        .to_pylist()
    )
    tables = found[0]["catalog_db_schemas"][0]["db_schema_tables"]
    return sorted(
        (t["table_name"], c["constraint_name"], c["constraint_type"], c["constraint_column_names"])
        for t in tables for c in t["table_constraints"]
    )  # fmt: skip


@checks
def get_table_schema(con: Any) -> Any:
    return str(con.adbc_get_table_schema("orders", db_schema_filter="main"))


@checks
def get_table_types(con: Any) -> Any:
    return sorted(con.adbc_get_table_types())


@checks
def get_info(con: Any) -> Any:
    return con.adbc_get_info()["vendor_name"]


@checks
def ingest(con: Any) -> Any:
    table = pa.table({"a": pa.array([1, 2, None], pa.int32()), "b": ["x", None, "ü"], "c": [1.5, None, 2.5]})
    with con.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS ingested")
        written = cursor.adbc_ingest("ingested", table, mode="create")
        cursor.adbc_ingest("ingested", table, mode="append")
        cursor.execute("SELECT * FROM ingested ORDER BY a, b")
        found = cursor.fetchall()
        cursor.execute("DROP TABLE ingested")
        con.commit()
        return written, found


@checks
def rolled_back(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("INSERT INTO customers (id, name) VALUES (5005, 'nobody')")
        con.rollback()
        cursor.execute("SELECT count(*) FROM customers WHERE id = 5005")
        return cursor.fetchall()


@checks
def error(con: Any) -> Any:
    return shown(asked(con, "SELECT * FROM no_such_table"))


if __name__ == "__main__":
    checks.run()
