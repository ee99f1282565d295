"""Charts and texts with llm functions: what Superset shows, and what Python gets for the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from relserve.api import connect
from tests.clients.superset.tables import SCHEMA, into_duckdb
from tests.clients.superset.target import Row, Target, expression, in_order, metric, time_axis

MOOD = (
    "llm_classify('What is the sentiment of this review? {review}', review, "
    "choices := ARRAY['positive', 'negative'])"
)
ABOUT_CABLES = "llm_filter('Is this review about a cable or charging? {review}', review)"
STARS_READ = "llm_score('How many stars does this reviewer give? {review}', review, lo := 1, hi := 5)"
RANGE = {"col": "written_at", "op": "TEMPORAL_RANGE", "val": "2025-02-01 : 2025-02-15"}
IN_RANGE = "written_at >= TIMESTAMP '2025-02-01' AND written_at < TIMESTAMP '2025-02-15'"
MOOD_AXIS = expression("mood", MOOD)
COUNTED = f"SELECT {MOOD} AS mood, count(*) AS count FROM reviews WHERE {IN_RANGE}"
ASKED = f"SELECT r.id, {MOOD} AS mood FROM {SCHEMA}.reviews AS r WHERE {IN_RANGE}"

READ = expression("read", f"sum({STARS_READ})")

# What Superset is asked, and the SQL that gives the same rows in Python.
LlmQuestion = tuple[Callable[[Target], list[Row]], str]
LLM_QUESTIONS: dict[str, LlmQuestion] = {
    "chart, dimension llm_classify": (
        lambda on: on.chart("reviews", columns=[MOOD_AXIS], metrics=["count"], filters=[RANGE]),
        f"{COUNTED} GROUP BY ALL",
    ),
    "chart, dimension llm_classify, filter llm_filter": (
        lambda on: on.chart(
            "reviews", columns=[MOOD_AXIS], metrics=["count"], filters=[RANGE], extras={"where": ABOUT_CABLES}
        ),
        f"{COUNTED} AND {ABOUT_CABLES} GROUP BY ALL",
    ),
    "chart by week and llm_classify": (
        lambda on: on.chart(
            "reviews", columns=[time_axis("written_at", "P1W"), MOOD_AXIS], metrics=["count"], filters=[RANGE]
        ),
        f"SELECT epoch_ms(date_trunc('week', written_at)::TIMESTAMP)::DOUBLE AS written_at, {MOOD} AS mood, "
        f"count(*) AS count FROM reviews WHERE {IN_RANGE} GROUP BY ALL",
    ),
    "chart, metric over llm_score": (
        lambda on: on.chart("reviews", columns=["verified"], metrics=[READ], filters=[RANGE]),
        f"SELECT verified, sum({STARS_READ}) AS read FROM reviews WHERE {IN_RANGE} GROUP BY ALL",
    ),
    "virtual dataset with llm_classify": (
        lambda on: (
            on.dataset("asked", ASKED),
            on.chart("asked", columns=["mood"], metrics=["count", metric("id", "MAX")]),
        )[1],
        f'SELECT mood, count(*) AS count, max(id) AS "MAX(id)" FROM ({ASKED}) GROUP BY ALL',
    ),
    "SQL Lab: llm_classify": (
        lambda on: in_order(on.lab(f"{ASKED} ORDER BY id")["data"]),
        f"{ASKED} ORDER BY id",
    ),
}


def in_python(folder: Path, model: str) -> dict[str, list[dict[str, Any]]]:
    """What relserve answers in Python, on the same rows in a file of its own."""
    file = folder / "python.duckdb"
    into_duckdb(file)
    with connect(str(file), model=model, progress=False) as con:
        return {name: _rows(con, sql) for name, (_, sql) in LLM_QUESTIONS.items()}


def _rows(con: Any, sql: str) -> list[dict[str, Any]]:
    found = con.execute(sql)
    names = [column[0] for column in found.description]
    return in_order([dict(zip(names, row, strict=True)) for row in found.fetchall()])
