"""A database whose macros have the names of DuckDB's functions: the server's own questions go as before."""

from __future__ import annotations

from random import Random

import duckdb
import psycopg

from benchmarks.hostile.eye import Eye
from benchmarks.hostile.house import AttackedServer
from benchmarks.hostile.outcome import HostileOutcome
from relserve.server.users.refused import FUNCTIONS

AT_ONCE = 100  # names that are taken while the server is asked
ASKED = (
    "SELECT relname, relkind FROM pg_catalog.pg_class WHERE relname = 't'",
    "SELECT attname, atttypid, attnum FROM pg_catalog.pg_attribute WHERE attrelid = 't'::regclass",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't'",
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_name = 'v'",
    "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'k'::regclass ORDER BY 1",
    "SELECT indexrelid, pg_get_indexdef(indexrelid) FROM pg_catalog.pg_index WHERE indrelid = 'k'::regclass",
    "SELECT name, setting FROM pg_catalog.pg_settings WHERE name = 'TimeZone'",
    "SELECT usename FROM pg_catalog.pg_stat_activity WHERE usename = 'ann'",
    "SELECT typname, typlen FROM pg_catalog.pg_type WHERE oid = 23",
    "SELECT llm('Say {}', 'x'), llm_extract('Of {}', 'x', schema := '{\"a\": \"VARCHAR\"}') IS NULL",
    "SHOW TimeZone",
)
_FUNCTIONS = """
SELECT function_name, bool_or(function_type IN ('table', 'table_macro', 'pragma'))
    FROM duckdb_functions() GROUP BY ALL ORDER BY ALL
"""
_SIGNATURES = ", ".join(f"({', '.join('abcdef'[:n])}) AS 'mine'" for n in range(6))


def names(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """An admin stands for the maker of the file."""
    outcome = HostileOutcome("macros of a file's maker with DuckDB's names")
    with duckdb.connect() as con:
        functions = [row for row in con.execute(_FUNCTIONS).fetchall() if row[0] not in FUNCTIONS]
    chosen = Random(seed).sample(functions, min(count, len(functions)))
    eye.found()
    for start in range(0, len(chosen), AT_ONCE):
        batch = chosen[start : start + AT_ONCE]
        with house.connect("root") as root:
            root.execute("CREATE TABLE k (id INT PRIMARY KEY, n VARCHAR, CHECK (id > 0))")
            before = _answers(house)
            for name, is_table in batch:
                body = "() AS TABLE SELECT 'mine' AS mine" if is_table else _SIGNATURES
                root.execute(f'CREATE MACRO main."{name}" {body}'.encode())
        for text, was, now in zip(ASKED, before, _answers(house), strict=True):
            if now != was:
                outcome.tell("leaked", f"{text} gave {now}, not {was}, beside {[name for name, _ in batch]}")
        outcome.cases += len(batch)
        eye.found()
    return outcome


def _answers(house: AttackedServer) -> list[str]:
    """What a user is told, in one session."""
    with house.connect("ann") as con:
        return [_answer(con, text) for text in ASKED]


def _answer(con: psycopg.Connection[tuple[object, ...]], text: str) -> str:
    try:
        return str(con.execute(text.encode()).fetchall())
    except psycopg.Error as error:
        return str(error)
