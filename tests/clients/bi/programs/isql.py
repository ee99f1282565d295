"""isql of unixODBC over psqlODBC, as an administrator tries a data source: a file odbc.ini, and statements typed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.clients.bi.programs.checks import Checks

checks = Checks(connect=lambda: None, close=lambda con: None)
SOURCE = """[source]
Driver = PostgreSQL Unicode
Servername = {PGHOST}
Port = {PGPORT}
Database = {PGDATABASE}
BoolsAsChar = 0
"""


def typed(script: str, password: str | None = None, options: tuple[str, ...] = ("-b", "-d|")) -> Any:
    """The lines that isql shows of what is typed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "odbc.ini"
        file.write_text(SOURCE.format_map(os.environ), encoding="utf-8")
        command = ["isql", "source", os.environ["PGUSER"], password or os.environ["PGPASSWORD"], *options]
        done = subprocess.run(
            command,
            input=script + "\n",
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "ODBCINI": str(file)},
        )
    return [done.returncode, *done.stdout.splitlines()]


SCRIPTS = {
    "select": "SELECT id, amount, day, note FROM orders WHERE id < 4 ORDER BY id",
    "types": "SELECT a_boolean, a_double, a_timestamp, a_uuid FROM all_types WHERE id < 3 ORDER BY id",
    "aggregate": "SELECT mood, count(*), sum(amount) FROM orders GROUP BY mood ORDER BY mood",
    "create_insert": "CREATE TEMP TABLE t (a INTEGER)\nINSERT INTO t VALUES (1), (2)\nSELECT sum(a) FROM t",
}
for name, script in SCRIPTS.items():
    checks.add(name, lambda _, script=script: typed(script))


@checks
def help_of_a_table(_: Any) -> Any:
    """Without what follows the column's number, which are psqlODBC's own numbers."""
    return [line.split("|")[:18] for line in map(str, typed("help orders")) if "|orders|" in line]


@checks
def help_lists_tables(_: Any) -> Any:
    return sorted(line for line in map(str, typed("help")) if "|main|" in line)


@checks
def as_a_table(_: Any) -> Any:
    """Its widths are those that the driver was told."""
    return typed("SELECT id, amount, day FROM orders WHERE id > 997 ORDER BY id", options=("-b",))


@checks
def as_html(_: Any) -> Any:
    return typed("SELECT id, note FROM orders WHERE id > 997 ORDER BY id", options=("-b", "-w"))


@checks
def verbose_error(_: Any) -> Any:
    """The SQLSTATE stands in brackets; the words after it are the server's own."""
    told = typed("SELECT * FROM no_such_table", options=("-b", "-v"))
    return [str(line).split("]")[0] for line in told if str(line).startswith("[")]


@checks
def wrong_password(_: Any) -> Any:
    return typed("SELECT 1", password="wrong")[0]


if __name__ == "__main__":
    checks.run()
