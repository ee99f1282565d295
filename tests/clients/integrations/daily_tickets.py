"""The example of docs/integrations.md for Dagster and for Airflow, as it stands there: materialized twice."""

import re
import textwrap
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"
MODEL = '"http://127.0.0.1:8000/v1"'


def example(heading: str) -> dict[str, Any]:
    """The names that the Python block below a heading defines, with the scripted engine as its model."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1]
    code = re.search(r"```py\n(.*?)```", section, re.DOTALL)[1]
    names: dict[str, Any] = {}
    exec(compile(code.replace(MODEL, '"scripted"'), str(PAGE), "exec"), names)
    return names


def tickets(ids: range) -> None:
    with duckdb.connect("shop.db") as con:
        con.execute("CREATE TABLE IF NOT EXISTS tickets (id BIGINT, message VARCHAR)")
        for i in ids:
            con.execute("INSERT INTO tickets (id, message) VALUES (?, ?)", [i, f"message {i}"])


def kinds() -> dict[str, int]:
    with duckdb.connect("shop.db") as con:
        return dict(con.execute("SELECT kind, count(*) FROM tickets GROUP BY ALL").fetchall())


names = example("Dagster")
asset = names["ticket_kinds"]


def asked() -> int:
    done = dg.materialize([asset], instance=dg.DagsterInstance.ephemeral())
    assert done.success
    (event,) = done.asset_materializations_for_node("ticket_kinds")
    return event.metadata["asked"].value


tickets(range(20))
assert asked() == 20
tickets(range(20, 23))
assert asked() == 3
assert sum(kinds().values()) == 23
assert set(kinds()) <= {"complaint", "praise"}

# Airflow's tasks are plain functions: the body of the one on the page, without Airflow
section = PAGE.read_text("utf-8").split("## Airflow\n", 1)[1]
task = textwrap.dedent(re.search(r"@task\n(.*?)\n\n    refresh", section, re.DOTALL)[1])
body: dict[str, Any] = {}
exec(compile(task.replace(MODEL, '"scripted"'), str(PAGE), "exec"), body)
tickets(range(23, 25))
assert body["refresh_ticket_kinds"]() == {"rows": 25, "asked": 2, "failed_rows": 0}
print("ok")
