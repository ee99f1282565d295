"""A dashboard of three charts, of which two ask the model, as Superset saves them, and its picture."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.superset.app import HOME, USER
from tests.clients.superset.llm import ABOUT_CABLES, MOOD_AXIS
from tests.clients.superset.target import Target

TITLE = "What buyers say"
PICTURE = Path(__file__).with_name("picture.py")
BROWSERS = (Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver"))
COUNT = {"expressionType": "SQL", "label": "reviews", "sqlExpression": "COUNT(*)"}
IN_RANGE = {
    "clause": "WHERE", "expressionType": "SIMPLE", "subject": "written_at", "operator": "TEMPORAL_RANGE",
    "comparator": "2025-02-01 : 2025-03-01",
}  # fmt: skip
CABLES_ONLY = {"clause": "WHERE", "expressionType": "SQL", "sqlExpression": ABOUT_CABLES}
STARS = {
    "expressionType": "SIMPLE", "column": {"column_name": "stars"}, "aggregate": "AVG",
    "label": "stars given",
}  # fmt: skip
BY_DAY = {"x_axis": "written_at", "time_grain_sqla": "P1D", "metrics": [COUNT], "adhoc_filters": [IN_RANGE]}
CHARTS: dict[str, dict[str, Any]] = {
    "Stars by day": {
        "viz_type": "echarts_timeseries_line", **BY_DAY, "metrics": [STARS], "truncateYAxis": True,
        "y_axis_bounds": [3, 5],
    },
    "Their mood, by llm_classify": {
        "viz_type": "echarts_timeseries_bar", **BY_DAY, "groupby": [MOOD_AXIS], "stack": "Stack",
    },
    "Mood of those about cables, by llm_filter": {
        "viz_type": "pie", "groupby": [MOOD_AXIS], "metric": COUNT, "adhoc_filters": [IN_RANGE, CABLES_ONLY],
        "label_type": "key_value", "show_legend": True, "row_limit": 100,
    },
}  # fmt: skip
WIDTHS = (12, 7, 5)  # of a dashboard's twelve columns
ROWS = ((0,), (1, 2))


def dashboard(on: Target) -> str:
    """Save the charts and a dashboard of them.

    Returns:
        Its path in Superset.
    """
    made = on.superset.post("/api/v1/dashboard/", dashboard_title=TITLE, published=True)["id"]
    charts = [_chart(on, title, params, made) for title, params in CHARTS.items()]
    layout = json.dumps(_layout(charts))
    on.superset.put(f"/api/v1/dashboard/{made}", position_json=layout)
    return f"/superset/dashboard/{made}/?standalone=1"


def _chart(on: Target, title: str, params: dict[str, Any], dashboard_id: int) -> int:
    dataset = on.dataset("reviews")["id"]
    saved = {"datasource": f"{dataset}__table", "row_limit": 1000, **params}
    made: int = on.superset.post(
        "/api/v1/chart/", slice_name=title, viz_type=params["viz_type"], datasource_id=dataset,
        datasource_type="table", params=json.dumps(saved), dashboards=[dashboard_id],
    )["id"]  # fmt: skip
    return made


def _layout(charts: list[int]) -> dict[str, Any]:
    names = [f"ROW-{i}" for i in range(len(ROWS))]
    layout: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": names, "parents": ["ROOT_ID"]},
    }
    for name, row in zip(names, ROWS, strict=True):
        above = ["ROOT_ID", "GRID_ID"]
        children = [f"CHART-{i}" for i in row]
        background = {"background": "BACKGROUND_TRANSPARENT"}
        layout[name] = {"type": "ROW", "id": name, "children": children, "parents": above, "meta": background}
        for i, title in ((i, list(CHARTS)[i]) for i in row):
            meta = {"chartId": charts[i], "width": WIDTHS[i], "height": 40, "sliceName": title}
            layout[f"CHART-{i}"] = {
                "type": "CHART", "id": f"CHART-{i}", "children": [], "parents": [*above, name], "meta": meta,
            }  # fmt: skip
    return layout


def picture(on: Target, path: str, into: Path) -> str | None:
    """Save a page's picture as headless Chromium shows it.

    Returns:
        What is missing, if something is.
    """
    missing = [str(program) for program in BROWSERS if not program.exists()]
    if missing:
        return f"no picture: {' and '.join(missing)} are not installed (Debian: chromium chromium-driver)"
    words = [on.superset.url, *USER.values(), path, str(into), str(len(CHARTS))]
    command = [str(HOME / "bin" / "python"), "-E", str(PICTURE), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip()[-500:] or None if done.returncode else None
