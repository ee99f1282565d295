"""Run as a program: what reads users' texts reads long ones that once took hours, or gigabytes.

It writes a line before each, so that whoever has to end it knows at which one, and then how many bytes were
held for each character, at most.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import duckdb
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.parameters import find_parameters
from relserve_duckdb.udf.connection_state import Changes
from relserve_duckdb.udf.statement_parser import parse_checked

from relserve.cli.shell.lexer import tokens
from relserve.errors import ProtocolError
from relserve.server.client.commands import read_command
from relserve.server.client.split import split
from relserve.server.wire.copying import read_copy
from relserve.server.wire.faults import fields_of

COMMENTS = {"empty comments": "/**/" * 5000, "lines": "-- a\n" * 5000, "blanks": " \n" * 20_000}
OPEN = {
    "comments that never end": "SELECT 1; " + "/* " * 50_000,
    "tags that never end": "SELECT 1; " + "".join(f"$t{i}$ " for i in range(20_000)),
    "texts that never end": "SELECT 1; " + "e'a" * 50_001,
}
LITERAL = "SELECT 1; SELECT '" + "a" * 4_000_000 + "'"


def read_by_library(text: str) -> None:
    """What `Connection.execute` does before DuckDB gets it."""
    con = duckdb.connect()
    calls = IndirectCalls(con)
    calls.is_changed_by(con, text)
    calls.learn(con, text)
    with Changes().by(1, text):
        find_parameters(text + "$1")
    parse_checked(con, text, None, lambda _: None)


def read_by_server(text: str) -> None:
    """What a server does with a client's text of its own."""
    for part in split(text):
        with suppress(ProtocolError):
            read_copy(part)
        with suppress(ProtocolError):
            read_command(part)
    deque(tokens(text), maxlen=0)


def told(text: str) -> None:
    """What a client is told of an error whose message is this long."""
    for kind in (duckdb.BinderException, duckdb.CatalogException, duckdb.ConversionException):
        fields_of(kind(text), text)


def main() -> None:
    """Read all of them."""
    for name, lead in COMMENTS.items():
        for end in ("SELECT 1", "COPY t FROM STDIN", "nonsense", ""):
            _run(f"{name} before {end!r}, server", read_by_server, lead + end)
        _run(f"{name}, library", read_by_library, lead + "SELECT 1")
    for name, text in OPEN.items():
        _run(f"{name}, server", read_by_server, text)
        _run(f"{name}, parameters", find_parameters, text)
    for word in ("DECLARE c", "SET a", "SET SESSION", "FETCH", "ROLLBACK", "SAVEPOINT", "SELECT set_config("):
        _run(f"blanks behind {word}", read_by_server, word + " " * 100_000)
    for part in ("\n", "LINE 1: ", "Function with name ", "Column ", "A Error: "):
        _run(f"{part!r} in an error", told, part * 50_000)
    _run("a long literal, server", read_by_server, LITERAL)
    _run("a long literal, parameters", find_parameters, LITERAL + " $1")


def _run(name: str, read: Callable[[str], object], text: str) -> None:
    sys.stdout.write(json.dumps({"at": name}) + "\n")
    sys.stdout.flush()
    tracemalloc.start()
    read(text)
    held = tracemalloc.get_traced_memory()[1] / len(text)
    tracemalloc.stop()
    sys.stdout.write(json.dumps({"done": name, "bytes": round(held, 1)}) + "\n")


if __name__ == "__main__":
    main()
