"""A database as Superset sees it, and the ways to ask it: datasets, charts, SQL Lab."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from tests.clients.superset.app import Superset
from tests.clients.superset.servers import Server
from tests.clients.superset.tables import SCHEMA

ROW_LIMIT = 50_000
Row = Mapping[str, Any]


class Target:
    """A database that was added to Superset, with its datasets by name.

    Attributes:
        superset: whose API is asked.
        server: that Superset connects to.
        id: of the database in Superset.
        datasets: their ids by name.
    """

    def __init__(self, superset: Superset, server: Server) -> None:
        self.superset, self.server = superset, server
        new = {"database_name": server.name, "sqlalchemy_uri": server.uri, "expose_in_sqllab": True}
        self.id: int = superset.post("/api/v1/database/", **new)["id"]
        self.datasets: dict[str, int] = {}

    def about(self, path: str, **query: str) -> Any:
        """What Superset says of the database."""
        return self.superset.get(f"/api/v1/database/{self.id}/{path}/", **query)

    def dataset(self, name: str, sql: str | None = None) -> dict[str, Any]:
        """A dataset, made at its first use: a table's or view's, or with SQL a virtual one."""
        if name not in self.datasets:
            new = {"database": self.id, "schema": SCHEMA, "table_name": name} | ({"sql": sql} if sql else {})
            self.datasets[name] = self.superset.post("/api/v1/dataset/", **new)["id"]
        found: dict[str, Any] = self.superset.get(f"/api/v1/dataset/{self.datasets[name]}")["result"]
        return found

    def delete_datasets(self) -> None:
        """Delete them all, for on SQLite Superset lets no two databases have datasets of one name."""
        for dataset_id in self.datasets.values():
            self.superset.delete(f"/api/v1/dataset/{dataset_id}")
        self.datasets.clear()

    def chart(self, dataset: str, *, result: str = "full", **query: Any) -> list[Row]:
        """The rows behind a chart, in an order that does not depend on the server's.

        Args:
            dataset: its name.
            result: what Superset is asked for; "samples" are the rows of Explore's preview.
            query: of Superset's query objects.
        """
        empty = {"filters": [], "columns": [], "metrics": [], "orderby": [], "row_limit": ROW_LIMIT}
        extras = {"having": "", "where": ""} | query.pop("extras", {})
        asked = self.superset.post(
            "/api/v1/chart/data", datasource={"id": self.dataset(dataset)["id"], "type": "table"}, force=True,
            queries=[empty | query | {"extras": extras}], result_format="json", result_type=result,
        )  # fmt: skip
        rows: list[Row] = asked["result"][0]["data"]
        return in_order(rows)

    def lab(self, sql: str, *, limit: int = 1000, client_id: str | None = None) -> dict[str, Any]:
        """What SQL Lab answers to a text."""
        answer: dict[str, Any] = self.superset.post(
            "/api/v1/sqllab/execute/", database_id=self.id, sql=sql, schema=SCHEMA, queryLimit=limit,
            runAsync=False, client_id=client_id or new_client_id(),
        )  # fmt: skip
        return answer


def new_client_id() -> str:
    """A name for a query of SQL Lab, of the length that Superset allows."""
    return secrets.token_hex(5)


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows by their values; numbers with so many digits as sums in any order share."""
    rounded = [{name: round(v, 9) if isinstance(v, float) else v for name, v in row.items()} for row in rows]
    return sorted(rounded, key=lambda row: json.dumps(row, default=str))


def metric(column: str, aggregate: str) -> dict[str, Any]:
    """A simple metric, as Explore builds it."""
    return {
        "expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": aggregate,
        "label": f"{aggregate}({column})",
    }  # fmt: skip


def expression(label: str, sql: str) -> dict[str, Any]:
    """A metric or dimension of the user's own SQL."""
    return {"expressionType": "SQL", "label": label, "sqlExpression": sql}


def time_axis(column: str, grain: str) -> dict[str, Any]:
    """A chart's time axis in steps of a grain."""
    return expression(column, column) | {"columnType": "BASE_AXIS", "timeGrain": grain}
