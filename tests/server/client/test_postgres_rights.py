"""What PostgreSQL answers to a matrix of statements and roles, this server answers, by SQLSTATE and words.

`postgres_rights.json` is what PostgreSQL 15 gave: roles that may log in, a database of its own, `setup`, and
then each statement by each role as `answer` runs it. What differs is not in it: in PostgreSQL a WITH that
nothing reads needs no rights, PREPARE none before EXECUTE, and DROP TABLE looks for views.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import psycopg
import pytest

from relserve.server.server import Server
from relserve.server.users.users import User
from tests.server.client.rights_scene import PASSWORD, client, serving

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
RECORDED = json.loads(Path(__file__).with_name("postgres_rights.json").read_text("utf-8"))
ROLES, ANSWERS = RECORDED["roles"], RECORDED["answers"]
CURSORS = [psycopg.ClientCursor, psycopg.Cursor]  # the simple protocol and the extended one
_TOLD = re.compile(r"(?m)^(?:psql:\S+ )?ERROR: +(?P<error>\w{5}: .*)$|^(?P<tag>[A-Z][A-Z ]+[0-9 ]*)$")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    users = [User("root", is_admin=True), *map(User, ROLES)]
    with serving(tmp_path_factory.mktemp("matrix"), users, only_granted=True) as server:
        for role, text in RECORDED["setup"]:
            with client(server, role) as con:
                con.execute(text.replace("{schema}", "main"))
        yield server


def answer(con: psycopg.Connection[Any], cursor: Any, text: str) -> str:
    """The command tag of a statement that is undone, or SQLSTATE and message of its error."""
    try:
        with con.transaction(force_rollback=True):
            if text.startswith("COPY"):
                with con.cursor().copy(text) as rows:
                    return f"COPY {sum(1 for _ in rows)}"
            return str(cursor(con).execute(text).statusmessage)
    except psycopg.Error as error:
        return f"{error.sqlstate} {error.diag.message_primary}"


@pytest.mark.cells(1)
@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize("number", range(len(ROLES)), ids=ROLES)
def test_rights_are_postgresqls(server, number, cursor):
    with client(server, ROLES[number]) as con:
        told = {text: answer(con, cursor, text) for text in ANSWERS}
    assert told == {text: _expected(each[number]) for text, each in ANSWERS.items()}


@pytest.mark.cells(1)
@pytest.mark.skipif(which("psql") is None, reason="psql is not installed")
@pytest.mark.parametrize("number", range(len(ROLES)), ids=ROLES)
def test_rights_are_postgresqls_in_psql(server, number, tmp_path):
    script = tmp_path / "matrix.sql"
    lines = [f"BEGIN;\n{text};\nROLLBACK;\n\\echo ==" for text in ANSWERS]
    script.write_text("\\set VERBOSITY verbose\n" + "\n".join(lines) + "\n")
    place = f"host=127.0.0.1 port={server.port} dbname=shop user={ROLES[number]} password={PASSWORD}"
    done = subprocess.run(
        ["psql", "-X", place, "-f", script], capture_output=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=True, env={"PSQLRC": "", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    told = {}
    for text, part in zip(ANSWERS, done.stdout.split("\n==\n"), strict=False):
        found = [each["error"] or each["tag"] for each in _TOLD.finditer(part)]
        told[text] = [each for each in found if each not in ("BEGIN", "ROLLBACK")]
    for text, each in ANSWERS.items():
        expected = _expected(each[number])
        if expected[:1].isdigit():
            assert told[text] == [expected.replace(" ", ": ", 1)], text
        else:
            assert not any(re.match(r"\d", each) for each in told[text]), (text, told[text])


def _expected(recorded: str) -> str:
    """PostgreSQL's first schema is called otherwise."""
    return recorded.replace("schema public", "schema main")
