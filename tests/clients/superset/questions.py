"""What Superset is asked on every server; answers are plain values, compared between servers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.clients.superset.app import HOME, RefusedError
from tests.clients.superset.tables import SCHEMA
from tests.clients.superset.target import Target, expression, metric, new_client_id, time_axis

Question = Callable[[Target], Any]
REFLECTION = Path(__file__).with_name("reflection.py")
JOINED = f"SELECT r.*, brand, price FROM {SCHEMA}.reviews r JOIN {SCHEMA}.products p ON p.id = product_id"
FEBRUARY = {"col": "written_at", "op": "TEMPORAL_RANGE", "val": "2025-02-01 : 2025-03-01"}
AXIS = time_axis("written_at", "P1D")


def connects(on: Target) -> Any:
    """Superset's own test of a connection."""
    return on.superset.post(
        "/api/v1/database/test_connection/", sqlalchemy_uri=on.server.uri, database_name="another"
    )


def refuses_another_database(on: Target) -> Any:
    """A database that does not exist is refused."""
    uri = on.server.uri.rpartition("/")[0] + "/nowhere"
    try:
        on.superset.post("/api/v1/database/test_connection/", sqlalchemy_uri=uri, database_name="another")
    except RefusedError as refused:
        return str(refused)
    return "connected"


def tables(on: Target) -> Any:
    """Tables and views of the schema."""
    found = on.about("tables", q=f"(schema_name:{SCHEMA})")["result"]
    return sorted((table["value"], table["type"]) for table in found)


def table(name: str) -> Question:
    """Columns with their types, keys and comments; keys without their names, which nobody gave."""

    def ask(on: Target) -> Any:
        said = on.about("table_metadata", name=name, schema=SCHEMA)
        keys = [without_names(key) for key in said["foreignKeys"] + said["indexes"]]
        columns = [each | {"keys": [without_names(key) for key in each["keys"]]} for each in said["columns"]]
        return said["comment"], columns, sorted(keys, key=str), said["selectStar"]

    return ask


def without_names(key: Mapping[str, Any]) -> dict[str, Any]:
    """A key but for the name that a server made up for a constraint; an index keeps the name it was given."""
    return {name: value for name, value in key.items() if name != "name" or key.get("type") == "index"}


def reflection(on: Target) -> Any:
    """The same by Superset's SQLAlchemy, for Superset's API shows no server's primary keys."""
    command = [HOME / "bin" / "python", "-E", REFLECTION, on.server.uri, SCHEMA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(done.stderr.strip().rpartition("\n")[2])
    return json.loads(done.stdout)


def columns_of(name: str, sql: str | None = None) -> Question:
    """The columns of a dataset: name, type, whether it is a time, description."""

    def ask(on: Target) -> Any:
        made = on.dataset(name, sql)
        shown = ("column_name", "type", "is_dttm", "description")
        return sorted([column[key] for key in shown] for column in made["columns"]), made["main_dttm_col"]

    return ask


def chart(dataset: str, **query: Any) -> Question:
    """The rows behind a chart."""
    return lambda on: on.chart(dataset, **query)


def by_grain(grain: str) -> Question:
    """A chart over time in steps of a grain."""
    query = {"columns": [time_axis("written_at", grain)], "metrics": ["count", metric("stars", "AVG")]}
    return chart("reviews", **query, extras={"time_grain_sqla": grain})


def grains(on: Target) -> Any:
    """The time grains that Superset offers for the database."""
    return on.dataset("reviews")["time_grain_sqla"]


def values(on: Target) -> Any:
    """The values of a column, as a filter offers them."""
    path = f"/api/v1/datasource/table/{on.dataset('reviews')['id']}/column/stars/values/"
    return sorted(on.superset.get(path)["result"], key=str)


def lab(sql: str, limit: int = 1000) -> Question:
    """Rows and types of a text in SQL Lab."""

    def ask(on: Target) -> Any:
        answer = on.lab(sql, limit=limit)
        return answer["data"], [[c["column_name"], c["type"]] for c in answer["columns"]]

    return ask


def lab_refuses(sql: str, word: str) -> Question:
    """Whether SQL Lab refuses a text in words that say what was wrong."""

    def ask(on: Target) -> Any:
        try:
            on.lab(sql)
        except RefusedError as refused:
            return word in str(refused) or str(refused)
        return "not refused"

    return ask


def exported(on: Target) -> Any:
    """A result of SQL Lab as a CSV file."""
    name = new_client_id()
    on.lab("SELECT id, stars, verified, written_at FROM reviews ORDER BY id", limit=50, client_id=name)
    return on.superset.text(f"/api/v1/sqllab/export/{name}/")


GRAINS = (
    "PT1S", "PT5S", "PT30S", "PT1M", "PT5M", "PT10M", "PT15M", "PT30M", "PT1H", "P1D", "P1W", "P1M", "P3M",
    "P1Y",
)  # fmt: skip
LONG = expression("long", "CASE WHEN length(review) > 100 THEN 'long' ELSE 'short' END")
SHARE = expression("share", "round(100.0 * count(*) FILTER (WHERE verified) / count(*), 2)")
ANY_REVIEW = [
    {"col": "stars", "op": ">", "val": 3.5}, {"col": "review", "op": "ILIKE", "val": "%good%"},
    {"col": "verified", "op": "==", "val": False}, {"col": "product_id", "op": "NOT IN", "val": [1, 2, 3]},
    {"col": "stars", "op": "IS NOT NULL"},
]  # fmt: skip

QUESTIONS: dict[str, Question] = {
    "connect": connects,
    "refuse a database that is not there": refuses_another_database,
    "tables and views": tables,
    **{f"keys, indexes, comments of {name}": table(name) for name in ("products", "reviews", "rated")},
    "reflection by SQLAlchemy 1.4": reflection,
    **{f"physical dataset {name}": columns_of(name) for name in ("reviews", "products", "rated")},
    "virtual dataset": columns_of("joined", JOINED),
    "time grains offered": grains,
    **{f"chart, grain {grain}": by_grain(grain) for grain in GRAINS},
    "chart by day in a time range": chart("reviews", columns=[AXIS], metrics=["count"], filters=[FEBRUARY]),
    "chart by day beside the week before": chart(
        "reviews", columns=[AXIS], metrics=["count"], filters=[FEBRUARY], time_offsets=["1 week ago"]
    ),
    "chart by a date in a range": chart(
        "products", columns=[time_axis("listed_on", "P1M")], metrics=["count", metric("price", "SUM")],
        filters=[{"col": "listed_on", "op": "TEMPORAL_RANGE", "val": "2024-07-15 : 2024-11-01"}],
    ),
    "chart of the three brands that sell most": chart(
        "joined", columns=[time_axis("written_at", "P1M"), "brand"], metrics=["count"],
        series_columns=["brand"], series_limit=3, series_limit_metric=metric("price", "SUM"),
    ),
    "chart with five filters": chart(
        "reviews", columns=["verified", "product_id"], filters=ANY_REVIEW,
        metrics=[metric("stars", "MIN"), metric("stars", "MAX"), metric("review", "COUNT_DISTINCT")],
    ),
    "chart with SQL filters": chart(
        "reviews", columns=["stars"], metrics=["count"],
        extras={"where": "length(review) > 10", "having": "count(*) > 20"},
    ),
    "chart of SQL expressions": chart("reviews", columns=[LONG], metrics=[SHARE]),
    "chart on the virtual dataset": chart(
        "joined", columns=["brand"], metrics=[metric("price", "SUM"), "count"], filters=[FEBRUARY]
    ),
    "chart on the view": chart("rated", columns=["category"], metrics=[metric("stars", "AVG"), "count"]),
    "table of raw rows": chart(
        "reviews", columns=["id", "written_at", "stars", "verified", "review"], orderby=[["id", False]],
        row_limit=40, row_offset=20,
    ),
    "how many rows a chart has": chart("reviews", columns=["stars"], metrics=["count"], is_rowcount=True),
    "values that a filter offers": values,
    "SQL Lab: rows and types": lab("SELECT * FROM products ORDER BY id", limit=30),
    "SQL Lab: WITH and GROUP BY": lab(
        "WITH t AS (SELECT brand, count(*) AS n FROM rated GROUP BY 1) "
        "SELECT n, brand FROM t ORDER BY 1 DESC, 2"
    ),
    "SQL Lab: two statements": lab("SELECT 1 AS a; SELECT 'x' AS b, now() IS NULL AS c"),
    "SQL Lab: types": lab(
        "SELECT 1::SMALLINT AS s, 2::BIGINT AS b, 1.50::DECIMAL(8, 2) AS d, 0.1::REAL AS r, "
        "NULL::INTEGER AS n, DATE '2025-02-28' AS day, TIMESTAMP '2025-02-28 23:59:59.123456' AS t, "
        "TIME '12:30:00' AS h, 'é' AS word, TRUE AS yes, ARRAY[1, 2] AS list"
    ),
    "SQL Lab: PostgreSQL's time functions": lab(
        "SELECT to_char(written_at, 'YYYY-MM') AS month, count(*) AS n FROM reviews "
        "WHERE written_at >= to_timestamp('2025-02-10 12:00', 'YYYY-MM-DD HH24:MI') "
        "AND written_at < to_date('01.04.2025', 'DD.MM.YYYY') GROUP BY 1 ORDER BY 1"
    ),
    "SQL Lab: a wrong column": lab_refuses("SELECT nothere FROM reviews", "nothere"),
    "SQL Lab: a wrong table": lab_refuses("SELECT 1 FROM nowhere", "nowhere"),
    "SQL Lab: a change": lab_refuses("DELETE FROM reviews", "DML"),
    "SQL Lab: a result as CSV": exported,
}  # fmt: skip
