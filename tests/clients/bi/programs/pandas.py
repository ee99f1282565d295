"""pandas' read_sql over psycopg2, SQLAlchemy and ADBC."""

from __future__ import annotations

import datetime
import os
from typing import Any

import adbc_driver_postgresql.dbapi
import pandas as pd
import sqlalchemy as sa

from tests.clients.bi.programs.checks import Checks

URL = sa.URL.create(
    "postgresql+psycopg2", os.environ["PGUSER"], os.environ["PGPASSWORD"], os.environ["PGHOST"],
    int(os.environ["PGPORT"]), os.environ["PGDATABASE"],
)  # fmt: skip
checks = Checks(connect=lambda: sa.create_engine(URL), close=lambda engine: engine.dispose())


def shown(frame: pd.DataFrame) -> Any:
    """The frame's types, shape and first rows."""
    rows = frame.head(5).astype(object).where(frame.head(5).notna(), None)
    return (
        {name: str(kind) for name, kind in frame.dtypes.items()},
        list(frame.shape),
        rows.to_numpy().tolist(),
    )


@checks
def read_sql(engine: Any) -> Any:
    return shown(pd.read_sql("SELECT * FROM orders ORDER BY id", engine))


@checks
def read_sql_of_all_types(engine: Any) -> Any:
    sql = (
        "SELECT id, a_smallint, a_bigint, a_real, a_double, a_numeric, a_boolean, a_text, a_date,"
        " a_timestamp, a_mood FROM all_types ORDER BY id"
    )
    return shown(pd.read_sql(sql, engine))


@checks
def read_sql_with_parameters(engine: Any) -> Any:
    sql = sa.text("SELECT id, ts, amount FROM orders WHERE id < :n AND ts > :t ORDER BY id")
    return shown(pd.read_sql(sql, engine, params={"n": 9, "t": datetime.datetime(2024, 1, 1, 4)}))


@checks
def read_sql_in_chunks(engine: Any) -> Any:
    return [len(chunk) for chunk in pd.read_sql("SELECT id FROM orders", engine, chunksize=300)]


@checks
def read_sql_with_dates_parsed(engine: Any) -> Any:
    return shown(
        pd.read_sql("SELECT id, day FROM orders ORDER BY id", engine, parse_dates=["day"], index_col="id")
    )


@checks
def read_sql_into_arrow_types(engine: Any) -> Any:
    return shown(
        pd.read_sql(
            "SELECT id, note, vip FROM orders JOIN customers USING (id) ORDER BY id",
            engine,
            dtype_backend="pyarrow",
        )
    )


@checks
def read_sql_table(engine: Any) -> Any:
    return shown(pd.read_sql_table("customers", engine, schema="main", columns=["id", "name", "since"]))


@checks
def read_sql_over_adbc(engine: Any) -> Any:
    with adbc_driver_postgresql.dbapi.connect(
        URL.set(drivername="postgresql").render_as_string(hide_password=False)
    ) as con:
        return shown(
            pd.read_sql("SELECT id, amount::float8 AS amount, ts, note FROM orders ORDER BY id", con)
        )


@checks
def grouped(engine: Any) -> Any:
    sql = (
        "SELECT mood, count(*) AS orders, sum(amount)::float8 AS amount, avg(id)::float8 AS id FROM orders"
        " GROUP BY mood ORDER BY mood"
    )
    return shown(pd.read_sql(sql, engine))


@checks
def round_trip(engine: Any) -> Any:
    """to_sql, and read_sql of what it wrote."""
    frame = pd.DataFrame(
        {
            "n": range(2000),
            "t": pd.date_range("2024-01-01", periods=2000, freq="h"),
            "w": ["ü"] * 2000,
            "b": [True, False] * 1000,
        }
    )
    frame.to_sql("frame", engine, if_exists="replace", index=False, chunksize=500)
    found = pd.read_sql("SELECT * FROM frame ORDER BY n", engine)
    with engine.begin() as con:
        con.execute(sa.text("DROP TABLE frame"))
    return shown(found), bool((found["n"] == frame["n"]).all() and (found["t"] == frame["t"]).all())


@checks
def replaced(engine: Any) -> Any:
    """if_exists='replace' drops the table of before."""
    for columns in ({"a": [1]}, {"b": ["x"]}):
        pd.DataFrame(columns).to_sql("frame", engine, if_exists="replace", index=False)
    found = shown(pd.read_sql("SELECT * FROM frame", engine))
    with engine.begin() as con:
        con.execute(sa.text("DROP TABLE frame"))
    return found


@checks
def error(engine: Any) -> Any:
    return shown(pd.read_sql("SELECT * FROM no_such_table", engine))


if __name__ == "__main__":
    checks.run()
