"""The clients of the matrix: the program of each, what it is started with, and the packages it needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.clients.bi.sides.install import JAVA, JDBC, NODE, PYTHON

TABLES = Path(__file__).parent.parent / "tables"
PROGRAMS = Path(__file__).parent.parent / "programs"


class Client(NamedTuple):
    """A client's program.

    Attributes:
        name: in the table.
        command: that runs its checks.
        packages: of Debian, without which it cannot run.
        environment: what its program reads beside the server's place.
    """

    name: str
    command: tuple[str, ...]
    packages: tuple[str, ...] = ()
    environment: Mapping[str, str] = MappingProxyType({})


def _python(name: str, program: str, *words: str, packages: tuple[str, ...] = ()) -> Client:
    return Client(name, (str(PYTHON), "-m", f"tests.clients.bi.programs.{program}", *words), packages)


def _java(name: str, program: str) -> Client:
    return Client(
        name, ("java", "-XX:TieredStopAtLevel=1", "-cp", f"{JAVA}{os.pathsep}{JDBC}", program),
        ("openjdk-17-jdk-headless", "libpostgresql-jdbc-java"), {"BI_TABLES": str(TABLES)},
    )  # fmt: skip


ODBC = ("unixodbc", "odbc-postgresql")
CLIENTS = (
    _python("psql", "psql", packages=("postgresql-client-15",)),
    _python("psycopg2", "psycopg2"),
    _python("psycopg", "psycopg3"),
    _python("asyncpg", "asyncpg"),
    _python("pg8000", "pg8000"),
    _python("sqlalchemy+psycopg2", "sqlalchemy", "psycopg2"),
    _python("sqlalchemy+psycopg", "sqlalchemy", "psycopg"),
    _python("sqlalchemy+pg8000", "sqlalchemy", "pg8000"),
    _python("pandas", "pandas"),
    _python("polars", "polars"),
    _python("adbc", "adbc"),
    Client(
        "node-postgres",
        ("node", str(PROGRAMS / "node_postgres.mjs")),
        ("nodejs",),
        {"BI_NODE": str(NODE)},
    ),
    _java("pgjdbc", "Pgjdbc"),
    _python("pyodbc", "pyodbc", packages=ODBC),
    _python("isql", "isql", packages=ODBC),
    Client("DBD::Pg", ("perl", str(PROGRAMS / "dbd_pg.pl")), ("libdbd-pg-perl",)),
    Client("RPostgreSQL", ("Rscript", "--vanilla", str(PROGRAMS / "rpostgresql.R")), ("r-cran-rpostgresql",)),
    Client("RODBC", ("Rscript", "--vanilla", str(PROGRAMS / "rodbc.R")), ("r-cran-rodbc", *ODBC)),
)
# Those that ask llm calls, which PostgreSQL has not.
LLM_CLIENTS = (
    _python("psql llm", "llm_psql", packages=("postgresql-client-15",)),
    _python("psycopg llm", "llm_psycopg"),
    _java("pgjdbc llm", "PgjdbcLlm"),
)
