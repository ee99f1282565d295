"""`relserve shell` without a terminal: a script, in a process of its own, with the scripted engine."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relserve.cli.main import app
from relserve.cli.shell.interpreter import COMMANDS
from tests.command_line import relserve
from tests.ending import said_by


def process(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "relserve", "shell", "--model", "scripted", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def shell(*args: str, stdin: str | bytes = "") -> Result:
    """The command in this process."""
    return CliRunner().invoke(app, ["shell", "--model", "scripted", *args], input=stdin)


def test_a_script_runs_every_statement_and_dot_command() -> None:
    done = process("--examples", stdin="""
.mode csv
SELECT 1 AS a; SELECT 'x;' AS b;
CREATE TABLE t AS FROM range(3) r(i);
INSERT INTO t VALUES (7);
.mode json
SELECT llm('say {}', i) AS said, i FROM t
  WHERE i > 1 ORDER BY i;
.mode markdown
SELECT i, 'a|b' || chr(10) || 'c' AS s, NULL AS n FROM t WHERE i = 7;
.mode line
SELECT 1 AS one, 'two' AS longer FROM range(2)""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    csv, rest = done.stdout.split('"x;"\n')
    assert csv == '"a"\n1\n"b"\n'
    lines = rest.splitlines()
    assert [json.loads(line)["i"] for line in lines[:2]] == [2, 7]
    assert lines[2:] == [
        "| i | s | n |", "| ---: | --- | --- |", "| 7 | a\\|b<br>c | NULL |",
        "   one = 1", "longer = two", "", "   one = 1", "longer = two",
    ]  # fmt: skip
    assert said_by(done.stderr) == ""


@pytest.mark.cells(2)
@pytest.mark.parametrize(("sql", "messages"), [
    ("SELECT 1;\nSELEC 2;\nSELECT 3", ["LINE 1: SELEC 2;\n        ^^^^^", "in stdin, line 2"]),
    ("SELECT 1;\n\nSELECT nix FROM range(3);", ["\"nix\"", "\n               ^^^", "in stdin, line 3"]),
    ("SELECT 1; SELECT llm('rate {x', 1);", ["'{' is never closed\n  rate {x\n       ^", "in stdin, line 1"]),
    ("SELECT 1;\nSELECT llm('{}', 1, max_token := 3);", ["max_tokens", "in stdin, line 2"]),
    ("SELECT 1;\n.tabels\nSELECT 3", ["there is no command .tabels; did you mean .tables?", "line 2"]),
    ("SELECT 1;\n.mode tabel", ["there is no mode 'tabel'; did you mean table?", "markdown"]),
    ("SELECT 1;\n.t", [".t may be .tables or .timer"]),
    ("SELECT 1;\n.import x.csv", ["usage: .import FILE TABLE"]),
    ("SELECT 1;\n.read 'x", [".read 'x: no closing quotation"]),
    ("SELECT 1;\n.read nowhere.sql", ["cannot read nowhere.sql: No such file"]),
    ("SELECT 1;\n.timer perhaps", [".timer takes on or off, not 'perhaps'"]),
    ("SELECT 1;\n.maxrows 0", [".maxrows takes a whole number above 0"]),
    ("SELECT 1;\n.output /nowhere/x", ["cannot write /nowhere/x: No such file"]),
    (".output /dev/full\n.mode csv\nSELECT 2;\nSELECT 3;", ["cannot write /dev/full: No space left"]),
    ("SELECT 1;\nSELECT 'never closed", ["unterminated", "line 2"]),
    (b"SELECT 1;\nSELECT 'K\xe4se'", ["cannot read stdin: byte 0xe4 in line 2 is not UTF-8"]),
])  # fmt: skip
def test_the_first_error_ends_a_script_with_status_1(sql: str | bytes, messages: list[str]) -> None:
    done = shell(stdin=sql)
    assert done.exit_code == 1
    assert done.stdout.count("┃") == (2 if "SELECT 1;" in str(sql) else 0), done.stdout
    assert done.stderr.startswith("relserve: ")
    assert all(message in done.stderr for message in messages), done.stderr
    assert "Traceback" not in done.stderr


def test_arrow_is_no_format_of_several_results() -> None:
    done = relserve("shell", "--model", "scripted", "--format", "arrow", "-c", "SELECT 1")
    assert (done.returncode, done.stdout, b"relserve sql --format arrow" in done.stderr) == (1, b"", True)


def hear_ctrl_c() -> None:
    """What a background job starts ignores SIGINT, as these tests may do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.long
def test_ctrl_c_ends_a_script_with_status_130() -> None:
    script = "SELECT 'ongoing'; SELECT sum(sin(i)) FROM range(1000000000000000000) t(i); SELECT 'never';"
    options = ["--model", "scripted", "--format", "csv", "-c", script]
    command = [sys.executable, "-m", "relserve", "shell", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    ) as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(2)] == ["\"'ongoing'\"\n", '"ongoing"\n']
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, "Traceback" in err) == (130, "", False)


@pytest.mark.long
def test_a_reader_that_goes_away_ends_the_script() -> None:
    script = ".mode csv\n" + 20 * "FROM range(10000);\n"
    command = f"{sys.executable} -m relserve shell --model scripted | head -n 2"
    done = subprocess.run(["sh", "-c", command], input=script, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ('"range"\n0\n', "")


@pytest.mark.long
def test_command_option_and_file(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.db")
    assert shell(file, "-c", "CREATE TABLE t AS SELECT 1 AS i").exit_code == 0
    done = process(
        file, "--format", "csv", "-c", "INSERT INTO t VALUES (2); FROM t;\n.quit\nSELEC", stdin="ignored"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '"i"\n1\n2\n', "")
    again = shell(file, "-c", "SELECT 1; SELEC")
    assert (again.exit_code, "in -c, line 1" in again.stderr) == (1, True)


def test_python_variables_are_not_tables() -> None:
    done = shell("-c", "FROM con")
    assert (done.exit_code, "Table with name con does not exist" in done.stderr) == (1, True)


def test_tables_schema_and_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,name\n1,x\n2,y\n")
    (tmp_path / "b c.json").write_text('{"id": 3, "name": "z"}\n')
    (tmp_path / "d.txt").write_text("id,name\n4,w\n")
    done = shell(
        stdin="""
.tables
.import a.csv t
.import "b c.json" t
.import d.txt 'my table'
CREATE VIEW v AS FROM t;
.mode csv
.tables
.tables m%
.tables nix
FROM v;
.schema
.schema t
""",
    )
    assert done.exit_code == 0, done.stderr
    head = '"name","kind","columns","estimated_rows"\n'
    mine = '"my table","table",2,1\n'
    schemas = [
        'CREATE TABLE "my table"(id BIGINT, "name" VARCHAR);',
        'CREATE TABLE t(id BIGINT, "name" VARCHAR);',
    ]
    assert done.stdout == (
        f'no tables\n{head}{mine}"t","table",2,3\n"v","view",2,\n{head}{mine}'
        'no table\'s name is like \'nix\'\n"id","name"\n1,"x"\n2,"y"\n3,"z"\n'
        f"{schemas[0]}\n{schemas[1]}\nCREATE VIEW v AS SELECT * FROM t;\n{schemas[1]}\n"
    )


def test_output_goes_to_a_file_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = shell(stdin="""
.mode csv
.output out.csv
SELECT 'é' AS a;
SELECT 2 AS b;
.output
SELECT 3 AS c;
.output table.txt
.mode table
FROM range(1, 90) t(i);
.maxrows 50
FROM range(1, 90) t(i);
""")  # fmt: skip
    assert (done.exit_code, done.stdout) == (0, '"c"\n3\n'), done.stderr
    assert (tmp_path / "out.csv").read_text() == '"a"\n"é"\n"b"\n2\n'
    tables = (tmp_path / "table.txt").read_text()
    assert "│ 40 │\n└────┘\n(40 of 89 rows shown; .mode line shows all, .maxrows N more rows)\n" in tables
    assert "│ 50 │\n└────┘\n(50 of 89 rows shown" in tables


@pytest.mark.long
def test_open_closes_one_database_and_opens_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = shell(
        "--examples",
        "first.db",
        stdin="""
.mode csv
CREATE TABLE one AS SELECT 1 AS i;
.open second.db
CREATE TABLE two AS SELECT 2 AS i;
SELECT count(*) AS films FROM films;
.open
SELECT count(*) AS n FROM duckdb_tables() WHERE NOT temporary;
.open first.db
FROM one;
.open /nowhere/third.db
""",
    )
    assert done.stdout == '"films"\n80\n"n"\n0\n"i"\n1\n'
    assert (done.exit_code, "/nowhere/third.db" in done.stderr) == (1, True)


def test_read_runs_files_and_tells_where_an_error_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner.sql").write_text("SELECT 1 AS a;\n\nSELECT nix;\n")
    (tmp_path / "outer.sql").write_text("\ufeff.mode csv\n.read inner.sql\nSELECT 2")
    (tmp_path / "again.sql").write_text(".read again.sql\n")
    done = shell(stdin="\n.read outer.sql\n")
    assert (done.exit_code, done.stdout) == (1, '"a"\n1\n')
    assert done.stderr.endswith("in inner.sql, line 3\nin outer.sql, line 2\nin stdin, line 2\n")
    done = shell(stdin=".read again.sql")
    assert (done.exit_code, "25 scripts read one another" in done.stderr) == (1, True)


@pytest.mark.long
def test_queries_errors_models_timer_and_help() -> None:
    done = process(
        stdin="""
.queries
.errors
.mode csv
SELECT llm('{}', repeat('x', 2000000 * i)) IS NULL AS failed FROM range(2) t(i);
.queries
.errors
.models
.timer on
SELECT 1 AS a;
.timer
.pager
.mode
.maxrows
.help
.help mode
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no llm function has been asked\nno row has failed\n")
    assert '1,"llm",2,2,1,' in done.stdout
    assert '1,"llm","over_context",1,"the prompt has 2000000 characters' in done.stdout
    for part in ("ORG/NAME", "Run Time (s): real 0.", "timer: on", "pager: off", "mode: csv", "maxrows: 40"):
        assert part in done.stdout, part
    for name in COMMANDS:
        assert f"\n{name} " in done.stdout, name
    assert done.stdout.count(".mode [MODE]") == 2
    assert "1 of 2 rows failed and is NULL" in done.stderr


@pytest.mark.long
def test_statements_run_as_their_lines_come() -> None:
    """A program that holds both ends of the pipe gets each answer before it asks on."""
    command = [sys.executable, "-m", "relserve", "shell", "--model", "scripted", "--format", "csv"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for number in range(3):
            running.stdin.write(f"SELECT {number}\n AS a;\n")
            running.stdin.flush()
            assert [running.stdout.readline(), running.stdout.readline()] == ['"a"\n', f"{number}\n"]
        running.stdin.close()
        assert running.wait(timeout=60) == 0
