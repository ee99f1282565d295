"""The command line with the scripted engine."""

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.command_line import relserve
from tests.forked import run_command

HELLO = "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) t(id, x) ORDER BY id"


def test_help_teaches() -> None:
    done = relserve("sql", "--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert all(word in text for word in ("--format", "--db", "--model", "llm_errors()", "relserve sql"))


def test_models_lists_what_a_call_can_name() -> None:
    text = relserve("models").stdout.decode()
    assert all(word in text for word in ("tiny", "ORG/NAME", "URL", "scripted", "RELSERVE_MODEL"))


@pytest.mark.parametrize(("format_", "expected"), [
    ("csv", '"id","x"\n1,"a"\n2,\n'), ("json", '{"id": 1, "x": "a"}\n{"id": 2, "x": null}\n'),
])  # fmt: skip
def test_formats_for_machines_are_exact(format_: str, expected: str) -> None:
    done = relserve("sql", HELLO, "--model", "scripted", "--format", format_)
    assert done.stdout.decode() == expected, done.stderr.decode()


def test_arrow_is_an_ipc_stream() -> None:
    done = relserve("sql", HELLO, "--model", "scripted", "--format", "arrow")
    assert pa.ipc.open_stream(io.BytesIO(done.stdout)).read_all().to_pydict() == {
        "id": [1, 2],
        "x": ["a", None],
    }


def test_a_table_for_people_shows_null() -> None:
    text = relserve("sql", HELLO, "--model", "scripted").stdout.decode()
    assert "NULL" in text
    assert "id" in text


def test_sql_from_stdin_with_llm_and_stats() -> None:
    text = "CREATE TABLE t AS SELECT range AS i FROM range(4); SELECT llm('say {}', i) AS a FROM t"
    done = relserve("sql", "-", "--model", "scripted", "--format", "json", "--stats", stdin=text)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(rows) == 4
    assert all(row["a"] for row in rows)
    assert "llm" in done.stderr.decode()


@pytest.mark.cells(1)
@pytest.mark.parametrize(("sql", "message"), [
    ("SELECT llm('rate {x', 'a')", "'{' is never closed"),
    ("SELECT llm('rate {}', 'a', max_token := 3)", "max_tokens"),
    ("SELEC 1", "syntax error"),
])  # fmt: skip
def test_errors_are_one_message_and_status_1(sql: str, message: str) -> None:
    done = relserve("sql", sql, "--model", "scripted")
    assert done.returncode == 1
    text = done.stderr.decode()
    assert message in text
    assert "Traceback" not in text


def test_a_wrong_model_says_what_there_is() -> None:
    done = relserve("sql", "SELECT 1", "--model", "./nowhere")
    assert done.returncode == 1
    assert "no model './nowhere'" in done.stderr.decode()


@pytest.mark.long
def test_failed_rows_end_with_a_line_on_stderr() -> None:
    """In a process of its own, for it is about what Python does with warnings."""
    sql = "SELECT llm_filter('{}?', repeat('x', 2000000)) AS a"
    command = [sys.executable, "-m", "relserve", "sql", sql, "--model", "scripted", "--format", "json"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == '{"a": null}\n'
    assert done.stderr.decode() == (
        "relserve: 1 of 1 rows failed and is NULL: 1 over context; --errors says why\n"
    )


@pytest.mark.cells(1)
@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_an_output_that_is_full_is_told_in_a_line(format_: str) -> None:
    command = [sys.executable, "-m", "relserve", "sql", HELLO, "--model", "scripted", "--format", format_]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr.decode()) == (
        1, "relserve: the output cannot be written: No space left on device; write it to another disk\n"
    )  # fmt: skip


def test_explain_shows_the_plan_and_the_calls() -> None:
    done = relserve("sql", "EXPLAIN SELECT llm('say {}', range) FROM range(4)", "--model", "scripted")
    text = done.stdout.decode()
    assert "Projection" in text
    assert "1 llm call: 4 rows, 4 distinct prompts" in text


@pytest.mark.long
def test_explain_command_takes_text_file_and_stdin(tmp_path: Path) -> None:
    sql = "SELECT llm('say {}', range) FROM range(4)"
    file = tmp_path / "query.sql"
    file.write_text(sql)
    said = {
        relserve("explain", *arguments, "--model", "scripted", stdin=sql).stdout
        for arguments in ([sql], [str(file)], ["-"])
    }
    assert len(said) == 1
    assert "4 distinct prompts" in said.pop().decode()
    assert relserve("sql", "-", "--model", "scripted", stdin="SELECT 'é' AS x").returncode == 0
    done = relserve("explain", str(tmp_path / "none.sql"), "--model", "scripted")
    assert (done.returncode, b"cannot read" in done.stderr) == (1, True)


def test_a_file_that_is_not_utf8_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "latin1.sql"
    file.write_bytes("SELECT 1;\nSELECT 'Käse'".encode("latin-1"))
    done = relserve("sql", str(file), "--model", "scripted")
    said = done.stderr.decode()
    assert (done.returncode, len(said.splitlines())) == (1, 1), said
    assert f"cannot read {file}: byte 0xe4 in line 2 is not UTF-8" in said


def test_the_module_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "relserve", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("relserve ")


def test_models_shows_the_forms_as_they_are_written() -> None:
    assert "URL[#NAME]" in relserve("models").stdout.decode()


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("option", ["--port", "--http"])
def test_a_port_that_is_taken_is_told_in_one_line(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run_command("serve", "--model", "scripted", "--port", "0", option, port, env=os.environ)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"relserve: {option}: cannot listen on 127.0.0.1, port {port}: ")
