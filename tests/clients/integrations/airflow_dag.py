"""The DAG of docs/integrations.md, as it stands there, run by Airflow: twice, then with another Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ticket_shop import add_tickets, example, kinds

HOME = Path.cwd() / "airflow"
DAGS = HOME / "dags"
os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
}

from airflow.dag_processing.dagbag import DagBag  # noqa: E402 (it reads its settings as it is imported)
from airflow.utils.db import initdb  # noqa: E402


def ran(code: str) -> dict[str, int]:
    """What the task of a DAG's file gives, run by Airflow."""
    (DAGS / "tickets.py").write_text(code, "utf-8")
    bag = DagBag(DAGS)
    assert not bag.import_errors, bag.import_errors
    run = bag.dags["tickets"].test()
    assert run.state == "success", run.state
    (task,) = run.get_task_instances()
    return task.xcom_pull(task_ids=task.task_id)


DAGS.mkdir(parents=True)
initdb()
dag = example("Airflow").replace('"shop.db"', repr(str(Path.cwd() / "shop.db")))
add_tickets(range(20))
assert ran(dag) == {"rows": 20, "asked": 20, "failed_rows": 0}
add_tickets(range(20, 23))
assert ran(dag) == {"rows": 23, "asked": 3, "failed_rows": 0}
add_tickets(range(23, 25))
elsewhere = dag.replace("@task\n", f"@task.external_python(python={sys.argv[1]!r})\n")
assert elsewhere != dag
assert ran(elsewhere) == {"rows": 25, "asked": 2, "failed_rows": 0}
assert sum(kinds().values()) == 25
assert set(kinds()) <= {"complaint", "praise"}
print("ok")
