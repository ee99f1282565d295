"""The two servers with equal tables: a PostgreSQL cluster of our own, and `relserve serve` on a file."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb

from benchmarks.provenance import ROOT
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier

TABLES = Path(__file__).parent.parent / "tables"
USER, PASSWORD, DATABASE = "bob", "s3cret-of-bob", "bi"
BINARIES = Path("/usr/lib/postgresql/15/bin")
START_S = 60.0


class Server(NamedTuple):
    """Where a server listens."""

    name: str
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """What libpq and the programs read."""
        return {
            "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": PASSWORD,
            "PGDATABASE": DATABASE,
        }  # fmt: skip


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    """PostgreSQL 15 in a temporary folder, as user postgres (it refuses to run as root)."""
    server = Server("PostgreSQL", _free_port())
    with tempfile.TemporaryDirectory(prefix="bi-postgres-") as folder:
        shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        _as_postgres(
            "initdb",
            "-D",
            data,
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C",
        )
        options = f"-p {server.port} -c listen_addresses=127.0.0.1 -k {folder} -c timezone=UTC -c fsync=off"
        _as_postgres("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            _fill_postgres(server, folder)
            yield server
        finally:
            _as_postgres("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def _fill_postgres(server: Server, folder: str) -> None:
    """Its schema is called main, as DuckDB's is, and belongs to the user of the clients."""

    def psql(user: str, database: str, *what: str) -> None:
        command = ["psql", "-h", folder, "-p", str(server.port), "-d", database, "-U", user]
        subprocess.run([*command, "-qX", "-v", "ON_ERROR_STOP=1", *what], check=True)

    psql("postgres", "postgres", "-c", f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
    psql("postgres", "postgres", "-c", f"CREATE DATABASE {DATABASE} OWNER {USER}")
    psql("postgres", "postgres", "-c", f"ALTER DATABASE {DATABASE} SET search_path = main")
    psql("postgres", DATABASE, "-c", f"DROP SCHEMA public; CREATE SCHEMA main AUTHORIZATION {USER}")
    psql(USER, DATABASE, "-f", str(TABLES / "tables.sql"))


def _as_postgres(program: str, *words: str) -> None:
    said = subprocess.run(
        [BINARIES / program, *words], user="postgres", group="postgres", cwd="/", stdout=subprocess.DEVNULL,
        check=False, env={"PATH": os.environ["PATH"], "HOME": pwd.getpwnam("postgres").pw_dir},
    )  # fmt: skip
    said.check_returncode()


@contextlib.contextmanager
def relserve(model: str = "scripted") -> Iterator[Server]:
    """`relserve serve` with one user, in a temporary folder."""
    server = Server("relserve", _free_port())
    with tempfile.TemporaryDirectory(prefix="bi-relserve-") as folder:
        file = Path(folder) / f"{DATABASE}.duckdb"
        fill_duckdb(file)
        users = _users_file(folder)
        environment = {
            **os.environ,
            "RELSERVE_MODEL": model,
            "TZ": "UTC",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        process = subprocess.Popen(
            [*COMMAND, "serve", str(file), "--no-cache", "--port", str(server.port), "--users", str(users)],
            env=environment, cwd=ROOT,
        )  # fmt: skip
        try:
            _wait_for(server, process)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=START_S)


COMMAND = [sys.executable, "-m", "relserve"]


def fill_duckdb(file: Path) -> None:
    """The tables in a new DuckDB file."""
    with duckdb.connect(file) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute((TABLES / "tables.sql").read_text(encoding="utf-8"))


def _users_file(folder: str) -> Path:
    """Of `--users`, with the one plain user."""
    file = Path(folder) / "users.json"
    Users(file, [User(USER, make_verifier(PASSWORD))]).save()
    return file


def _wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"relserve serve did not listen at {server.port} within {START_S:.0f} s")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
