"""What is attacked: a database with things to hide and to break, files beside it, and a port that listens."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from types import TracebackType

import duckdb
import pyarrow as pa

from relserve.linking.schema import Schema
from relserve.text2sql.catalog.reading import read_schema

MARKER = "s3cr3t-marker"  # in all that no answer, error or prompt may show
ALLOWED = ("beers", "best", "million")
variable_of_python = pa.table({"s": [MARKER]})

_MADE = f"""
CREATE TABLE beers (name VARCHAR, score INTEGER);
INSERT INTO beers VALUES ('Amber', 4), ('Dark', 2), ('Pale', 5);
CREATE VIEW best AS FROM beers WHERE score > 3;
CREATE TABLE million AS SELECT range AS n FROM range(1000000);
CREATE TABLE hidden AS SELECT '{MARKER}' AS s;
CREATE SCHEMA hidden_schema;
CREATE TABLE hidden_schema.hidden AS FROM hidden;
CREATE TYPE secret_mood AS ENUM ('{MARKER}');
CREATE SEQUENCE numbers;
CREATE MACRO twice(x) AS 2 * x;
CREATE MACRO lower(x) AS (FROM hidden);
CREATE MACRO reads_hidden(x := 1) AS (FROM hidden);
CREATE MACRO reads_hidden_rows() AS TABLE FROM hidden;
CREATE MACRO reads_file(f) AS TABLE FROM read_text(f);
CREATE MACRO once(x) AS x;
CREATE MACRO again(x) AS once(x);
CREATE OR REPLACE MACRO once(x) AS again(x);
"""
_OF_THE_USER = f"""
CREATE TEMP TABLE hidden_too AS SELECT '{MARKER}' AS s;
SET VARIABLE secret_variable = '{MARKER}';
PREPARE secret_statement AS SELECT '{MARKER}';
"""
_CATALOG = (
    "SELECT database_name, schema_name, table_name, sql, comment FROM duckdb_tables() ORDER BY ALL",
    "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "SELECT sequence_name, last_value, start_value FROM duckdb_sequences() ORDER BY ALL",
    "SELECT database_name, path, readonly FROM duckdb_databases() ORDER BY ALL",
    "SELECT count(*), bit_xor(hash(b)) FROM beers b",
    "SELECT count(*), bit_xor(hash(h)) FROM hidden h",
    "SELECT count(*), sum(n) FROM million",
)
_ALL = (
    "SELECT function_name, count(*) FROM duckdb_functions() GROUP BY ALL ORDER BY ALL",
    "SELECT name, value FROM duckdb_settings() WHERE scope = 'GLOBAL' ORDER BY ALL",
    "SELECT schema_name, type_name, type_oid FROM duckdb_types() WHERE NOT internal ORDER BY ALL",
    "SELECT extension_name, loaded, installed FROM duckdb_extensions() ORDER BY ALL",
    "SELECT name FROM duckdb_secrets() ORDER BY ALL",
    "SELECT schema_name FROM duckdb_schemas() ORDER BY ALL",
    "SELECT index_name FROM duckdb_indexes() ORDER BY ALL",
)


class AttackedDatabase:
    """A database, its user's connection, and what lies around it.

    Attributes:
        con: the user's connection.
        schema: of the tables that generated SQL may read.
        asked: what a function that would ask a model was called with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        self._plant()
        self.database = folder / "shop.duckdb"
        self.con = duckdb.connect(self.database)
        self.con.execute(_MADE)
        self.con.execute("CHECKPOINT")
        self.con.execute(f"ATTACH '{folder / 'other.duckdb'}' AS other")
        self.con.execute(_OF_THE_USER)
        for name in ("llm", "asks"):
            self.con.create_function(name, self._ask, ["VARCHAR"], "VARCHAR")
        self.con.create_function("upper", lambda x: x, ["INTEGER"], "INTEGER")
        self._trap = socket.create_server(("127.0.0.1", 0))
        self._trap.settimeout(0)
        self.schema: Schema = read_schema(self.con.cursor(), tables=ALLOWED)
        os.environ["TEXT2SQL_SECRET"] = MARKER

    def __enter__(self) -> AttackedDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del os.environ["TEXT2SQL_SECRET"]
        self._trap.close()
        self.con.close()

    def filled(self, text: str) -> str:
        """An attack with this house's places in it."""
        places = {
            "@SECRET@": self.folder / "secret.csv",
            "@FOLDER@": self.folder,
            "@DATABASE@": self.database,
            "@PORT@": self._trap.getsockname()[1],
        }
        for mark, place in places.items():
            text = text.replace(mark, str(place))
        return text

    def was_called(self) -> bool:
        """Whether somebody came to the port since the last look."""
        try:
            self._trap.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def state(self, whole: bool = False) -> list[object]:
        """All that an attack could have changed: files, catalog, rows; and what else the instance has."""
        with self.con.cursor() as con:
            seen = [con.execute(query).fetchall() for query in (*_CATALOG, *(_ALL if whole else ()))]
        return [_sums(self.folder), sorted(map(str, Path.cwd().iterdir())), *seen]

    def _ask(self, text: str) -> str:
        self.asked.append(text)
        return text

    def _plant(self) -> None:
        (self.folder / "secret.csv").write_text(f"s\n{MARKER}\n", encoding="utf-8")
        with duckdb.connect(self.folder / "other.duckdb") as con:
            con.execute(f"CREATE TABLE hidden AS SELECT '{MARKER}' AS s")
            con.execute(f"COPY hidden TO '{self.folder / 'secret.parquet'}'")


def _sums(folder: Path) -> list[tuple[str, str]]:
    """The files of a folder with their checksums; temporary ones of DuckDB come and go."""
    return sorted(
        (str(path), hashlib.blake2b(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file() and ".tmp" not in str(path)
    )
