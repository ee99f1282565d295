"""psql 15: its backslash commands, variables, formats, COPY, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.clients.bi.programs.checks import SLOW, Checks

checks = Checks(connect=lambda: ["psql", "-X", "-A", "-v", "VERBOSITY=sqlstate"], close=lambda con: None)

SCRIPTS = re.findall(
    r"^#: (\w+)\n(.*?)(?=^#: |\Z)",
    Path(__file__).with_name("psql_scripts.txt").read_text("utf-8"),
    re.M | re.S,
)
for name, script in SCRIPTS:
    checks.add(name, lambda con, script=script: typed(con, script))


def typed(command: list[str], script: str, **options: Any) -> dict[str, Any]:
    """What psql shows of what is typed."""
    done = subprocess.run(
        command, input=script.rstrip("\n") + "\n", capture_output=True, text=True, check=False, **options
    )
    return shown(done.returncode, done.stdout, done.stderr)


def shown(status: int, out: str, err: str) -> dict[str, Any]:
    """The three things that a shell would see, without the port."""
    out = out.replace(os.environ["PGPORT"], "PORT")
    return {"status": status, "out": out.splitlines(), "err": err.splitlines()}


@checks
def command_line(command: list[str]) -> Any:
    """Several -c, one of several statements."""
    return typed([*command, "-c", "SELECT 1 AS a; SELECT 2 AS b", "-c", r"\dn", "-c", "SELECT 3 AS c"], "")


@checks
def command_line_is_one_transaction(command: list[str]) -> Any:
    return typed([*command, "-c", "CREATE TABLE rolled_back (a INTEGER); SELECT nope"], r"") | typed(
        command, r"\dt rolled_back"
    )


@checks
def single_transaction(command: list[str]) -> Any:
    return typed([*command, "-1", "-c", "CREATE TABLE gone (a INTEGER)", "-c", "SELECT nope"], "") | typed(
        command, r"\dt gone"
    )


@checks
def list_databases(command: list[str]) -> Any:
    """Only our own, for PostgreSQL has templates too."""
    told = typed([*command, "-l"], "")["out"]
    return [line.split("|")[:2] for line in told if line.startswith("bi|")]


@checks
def backslash_copy_both_ways(command: list[str]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        script = f"""\\copy (SELECT id, amount, note, ts FROM orders ORDER BY id) to '{file}' csv header
CREATE TEMP TABLE t AS SELECT id, amount, note, ts FROM orders LIMIT 0;
\\copy t from '{file}' csv header
SELECT count(*) AS n, sum(amount) AS s, count(note) AS c, max(ts) AS m FROM t;
\\copy t to '{file}' (format binary)
CREATE TEMP TABLE u AS SELECT * FROM t LIMIT 0;
\\copy u from '{file}' (format binary)
SELECT count(*) AS n, sum(amount) AS s, count(note) AS c, max(ts) AS m FROM u;"""
        return typed(command, script)


@checks
def copy_program(command: list[str]) -> Any:
    """The program runs beside psql, not in the server."""
    return typed(command, "\\copy (SELECT id FROM orders WHERE id < 4 ORDER BY id) to program 'tac'")


@checks
def watch(command: list[str]) -> Any:
    """Two rounds, then Ctrl-C; each has the time in its title."""
    told = interrupted(command, "SELECT 41 + 1 AS answer \\watch 0.3", after_s=0.8)
    return {"status": told["status"], "answers": told["out"].count("42") >= 2}


@checks
def timing_shows_a_time(command: list[str]) -> Any:
    return typed(command, "\\timing on\nSELECT 1;")["out"][-1].startswith("Time: ")


@checks
def ctrl_c(command: list[str]) -> Any:
    """The statement ends with 57014 and the connection goes on."""
    return interrupted(command, f"{SLOW};\nSELECT 'alive' AS state;", after_s=1.0)


@checks
def ctrl_c_in_a_transaction(command: list[str]) -> Any:
    return interrupted(command, f"BEGIN;\n{SLOW};\nSELECT 1 AS a;\nROLLBACK;\nSELECT 2;", after_s=1.0)


def interrupted(command: list[str], script: str, after_s: float) -> dict[str, Any]:
    """What psql shows when Ctrl-C is typed after so many seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script + "\n")
        file.flush()
        program = subprocess.Popen(
            [*command, "-f", file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(after_s)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate()
    return shown(program.returncode, out, err.replace(file.name, "FILE"))


@checks
def statement_timeout(command: list[str]) -> Any:
    return typed(command, f"SET statement_timeout = 500;\n{SLOW};\nSELECT 1 AS a;")


@checks
def service_options(command: list[str]) -> Any:
    """PGOPTIONS and PGAPPNAME reach the session."""
    environment = {**os.environ, "PGOPTIONS": "-c statement_timeout=7s", "PGAPPNAME": "tool"}
    return typed(command, "SHOW statement_timeout;\nSHOW application_name;", env=environment)


@checks
def wrong_password(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGPASSWORD": "wrong"})
    return done["status"], "password authentication failed" in " ".join(done["err"])


@checks
def unknown_user(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGUSER": "nobody_here"})
    return done["status"], "password authentication failed" in " ".join(done["err"])


@checks
def unknown_database(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGDATABASE": "no_such_database"})
    return done["status"], "does not exist" in " ".join(done["err"])


@checks
def terminated_by_another(command: list[str]) -> Any:
    """pg_terminate_backend ends a session of the same user."""
    slow = subprocess.Popen([*command, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    ask = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid"
        " <> pg_backend_pid();"
    )
    ended = typed(command, ask)["out"]
    _, err = slow.communicate()
    return ended, slow.returncode, "57P01" in err


@checks
def cancelled_by_another(command: list[str]) -> Any:
    slow = subprocess.Popen([*command, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    ask = (
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <>"
        " pg_backend_pid();"
    )
    ended = typed(command, ask)["out"]
    _, err = slow.communicate()
    return ended, slow.returncode, "57014" in err


if __name__ == "__main__":
    checks.run()
