"""llm calls through psql: plain, by a cursor, by COPY TO STDOUT, prepared, and explained."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.clients.bi.programs.checks import Checks
from tests.clients.bi.programs.statements import CALLS, EXPLAINED, PREPARED, VIEW, Statement

BETWEEN_FIELDS, BETWEEN_ROWS, NULL = "\x1f", "\x1e", "\x15"
COMMAND = [
    "psql",
    "-XAtq",
    "-F",
    BETWEEN_FIELDS,
    "-R",
    BETWEEN_ROWS,
    "-P",
    f"null={NULL}",
    "-v",
    "ON_ERROR_STOP=1",
]
checks = Checks(connect=lambda: None, close=lambda con: None)


class RefusedError(Exception):
    """psql was told an error."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.sqlstate = words.partition("ERROR:  ")[2][:5]


def typed(script: str) -> str:
    """What psql shows."""
    script = f"{VIEW}\n\\set VERBOSITY verbose\n{script}\n"
    done = subprocess.run(COMMAND, input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def rows(script: str) -> Any:
    """The rows that psql shows, as lists of texts."""
    shown = typed(script).rstrip("\n").replace("\n" + BETWEEN_ROWS, BETWEEN_ROWS)
    return [
        [None if f == NULL else f for f in row.split(BETWEEN_FIELDS)] for row in shown.split(BETWEEN_ROWS)
    ]


def _fields(shown: Sequence[str]) -> Any:
    return [[None if field == NULL else field for field in row.split(BETWEEN_FIELDS)] for row in shown]


def copied(statement: Statement) -> Any:
    """The rows of COPY TO STDOUT."""
    lines = typed(f"COPY ({statement.text}) TO STDOUT;").splitlines()
    return [[None if f == r"\N" else f for f in line.split("\t")] for line in lines]


def executed(statement: Statement) -> Any:
    """The rows of PREPARE and EXECUTE."""
    values = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in statement.values)
    return rows(f"PREPARE p AS {statement.text};\nEXECUTE p({values});")


for each in CALLS:
    checks.add(f"{each.name}_plain", lambda _, each=each: rows(f"{each.text};"))
    checks.add(f"{each.name}_cursor", lambda _, each=each: by_cursor(each))
    checks.add(f"{each.name}_copy", lambda _, each=each: copied(each))
for each in PREPARED:
    checks.add(f"{each.name}_plain", lambda _, each=each: executed(each))
for each in EXPLAINED:
    checks.add(f"{each.name}_explain", lambda _, each=each: rows(f"EXPLAIN {each.text};"))


def by_cursor(statement: Statement) -> Any:
    """The rows of FETCH 7 until there are none; a line ends each fetch."""
    fetches = "FETCH 7 FROM c;\n" * 16
    shown = typed(f"BEGIN;\nDECLARE c CURSOR FOR {statement.text};\n{fetches}COMMIT;")
    return _fields(re.split(f"[\n{BETWEEN_ROWS}]", shown.strip("\n")))


if __name__ == "__main__":
    checks.run()
