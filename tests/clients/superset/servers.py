"""The two servers that Superset is pointed at, each with a process, a port and a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.provenance import ROOT
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.clients.superset.tables import SCHEMA, into_postgres

HOST = "127.0.0.1"
DATABASE = "bi"
USER, PASSWORD = "analyst", "it-is-a-secret"
START_S = 120.0
POSTGRES_PROGRAMS = Path("/usr/lib/postgresql/15/bin")


class Server(NamedTuple):
    """Where a server listens.

    Attributes:
        name: what the tables and Superset call it.
        port: of 127.0.0.1.
        has_llm: whether its SQL has the llm functions.
    """

    name: str
    port: int
    has_llm: bool

    @property
    def uri(self) -> str:
        """What Superset connects with."""
        return f"postgresql+psycopg2://{USER}:{PASSWORD}@{HOST}:{self.port}/{DATABASE}"


@contextmanager
def postgres(folder: Path, file: Path) -> Iterator[Server]:
    """A PostgreSQL 15 with a cluster in a folder, filled with the tables of a DuckDB file."""
    cluster, port = folder / "cluster", free_port()
    cluster.mkdir(mode=0o700)
    owner = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
    if owner:
        shutil.chown(cluster, owner)
        folder.chmod(0o755)
    (folder / "password").write_text(PASSWORD)
    options = ["-U", USER, "-A", "scram-sha-256", "--pwfile", folder / "password", "-E", "UTF8", "--locale=C"]
    initdb = [POSTGRES_PROGRAMS / "initdb", "-D", cluster, *options]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, user=owner, cwd="/")
    options = ["-h", HOST, "-p", str(port), "-k", "", "-c", "fsync=off", "-c", "timezone=UTC"]
    with running([str(POSTGRES_PROGRAMS / "postgres"), "-D", str(cluster), *options], port, folder, owner):
        for text in (f"CREATE DATABASE {DATABASE}", f"ALTER DATABASE {DATABASE} SET search_path = {SCHEMA}"):
            subprocess.run([*psql(port, "postgres"), "-q", "-c", text], check=True)
        into_postgres(file, psql(port))
        yield Server("PostgreSQL", port, has_llm=False)


@contextmanager
def relserve(folder: Path, file: Path, model: str) -> Iterator[Server]:
    """`relserve serve` on a DuckDB file, with one user, who is no admin."""
    port, users = free_port(), folder / "users.json"
    Users(users, [User(USER, make_verifier(PASSWORD))]).save()
    command = [sys.executable, "-m", "relserve", "serve", str(file), "--users", str(users)]
    with running([*command, "--port", str(port), "--model", model], port, folder):
        yield Server("relserve", port, has_llm=True)


def psql(port: int, database: str = DATABASE) -> list[str]:
    """The command line of a psql on a server."""
    return ["psql", f"postgresql://{USER}:{PASSWORD}@{HOST}:{port}/{database}"]


@contextmanager
def running(
    command: Sequence[str], port: int, folder: Path, owner: str | None = None, **variables: str
) -> Iterator[None]:
    """A process that listens on a port, ended at the end; what it prints goes into a file of the folder.

    Args:
        owner: who runs it, if that is not who runs this.
        variables: of its environment, over those here.
    """
    name = Path(command[0]).name
    log = folder / f"{name}-{port}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd="/" if owner else ROOT, user=owner,
            env=os.environ | variables,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while not listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(command)}: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def listens(port: int) -> bool:
    """Whether anything accepts connections on a port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
