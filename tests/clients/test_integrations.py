"""The libraries of docs/integrations.md, with the real packages: each runs a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.client.conftest import Serve, connect, plain_server, serve  # noqa: F401 (fixtures)
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "clients" / "integrations"
PYTHON = ROOT / "build" / "integrations" / "bin" / "python"
DUCKDB_POSTGRES = ROOT / "build" / "integrations" / "duckdb_postgres"

AIRFLOW = ROOT / "build" / "airflow" / "bin" / "python"

pytestmark = pytest.mark.long
needs_libraries = pytest.mark.skipif(
    not PYTHON.exists(), reason="the libraries are not there: make integrations"
)


def run(folder: Path, program: str, *args: str, packages: Path | None = None, python: Path = PYTHON) -> None:
    """Run a program, which says `ok` when it has got through; `packages` come before the others."""
    paths = [str(ROOT), str(ROOT / "duckdb_ext"), str(ROOT / "kernels"), str(PROGRAMS)]
    if packages is not None:
        paths.insert(0, str(packages))
    env = {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "HOME": str(folder),
        "PLOOMBER_STATS_ENABLED": "false", "RELSERVE_CACHE_DIR": str(folder), "MPLCONFIGDIR": str(folder),
    }  # fmt: skip
    done = subprocess.run(
        [str(python), str(PROGRAMS / program), *args],
        env=env, cwd=folder, capture_output=True, text=True, timeout=4 * PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, "ok" in done.stdout.split("\n")) == (0, True), done.stdout + done.stderr


@needs_libraries
@pytest.mark.parametrize(
    "program",
    [
        "frames_sql.py",
        "ibis_tables.py",
        "sqlalchemy_engine.py",
        "notebook.py",
        "magic.py",
        "daily_tickets.py",
    ],
)
def test_a_library_takes_the_connection(tmp_path: Path, program: str) -> None:
    run(tmp_path, program)


@pytest.mark.skipif(not AIRFLOW.exists(), reason="Airflow is not there: make airflow")
def test_airflow_runs_the_task(tmp_path: Path) -> None:
    run(tmp_path, "airflow_dag.py", sys.executable, python=AIRFLOW)


@needs_libraries
def test_harlequin_is_a_client_of_the_server(tmp_path: Path, serve: Serve) -> None:  # noqa: F811
    server = serve()
    with connect(server, autocommit=True) as client:
        client.execute("CREATE TABLE beers AS SELECT i AS id, 'beer ' || i AS name FROM range(9) t(i)")
        run(tmp_path, "harlequin_client.py", str(server.port))


@needs_libraries
def test_another_duckdb_attaches_the_server(tmp_path: Path, serve: Serve) -> None:  # noqa: F811
    server = serve()
    with connect(server, autocommit=True) as client:
        client.execute("CREATE TABLE beers AS SELECT i AS id, 'beer ' || i AS name FROM range(9) t(i)")
    (extension,) = DUCKDB_POSTGRES.glob("duckdb_extension_postgres_scanner/extensions/*/*.duckdb_extension")
    run(tmp_path, "duckdb_attach.py", str(server.port), str(extension), packages=DUCKDB_POSTGRES)
