"""Building and installing the extension, and the engine that its first call starts."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest
from extension_host import HAS_SHELL, Installed, Service, interrupted_when

from relserve.cli import shell_install
from relserve.cli.shell_install import (
    START_UP,
    build,
    duckdb_platform,
    footer,
    header,
    how_to_load,
    install,
    start_up,
)
from relserve.engines.shared.wire import read_json, write_json
from relserve.errors import UsageError
from relserve.version import VERSION
from tests.command_line import relserve

ROOT = Path(__file__).parents[3]
ZIG = [sys.executable, "-m", "ziglang", "cc"]
COMPILERS = [
    pytest.param(["gcc"], marks=pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")),
    pytest.param(
        ZIG,
        marks=[
            pytest.mark.skipif(not find_spec("ziglang"), reason="ziglang is not installed"),
            pytest.mark.long,
        ],
    ),
]


def built_for(python: Path, folder: Path) -> Installed:
    """The extension as another Python would have installed it."""
    extension = build(folder, header(str(python)))
    for major, name in START_UP.items():
        extension.with_name(name).write_text(start_up(extension, major))
    return Installed(extension)


def connect(installed: Installed) -> duckdb.DuckDBPyConnection:
    """A connection that finds its engine by itself."""
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    con.execute(installed.start_up(2).read_text())
    return con


@pytest.fixture
def own_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Engines that are started go into a folder of this test's, and are stopped at its end."""
    folder = tempfile.mkdtemp(prefix="rs-")  # short, for a socket's path is
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(str(ROOT / each) for each in ("", "duckdb_ext", "kernels"))
    )
    yield
    assert relserve("engine", "stop", "--all").returncode == 0
    shutil.rmtree(folder)


@pytest.mark.parametrize("compiler", COMPILERS, ids=["gcc", "ziglang"])
def test_each_compiler_builds_a_file_for_both_hosts(
    compiler: list[str], service: Service, tmp_path: Path
) -> None:
    installed = Installed(install(tmp_path, compiler))
    with installed.connect(service) as con:
        assert con.execute("SELECT llm('{}', i) FROM range(2) t(i)").fetchall() == [("0",), ("1",)]
    if HAS_SHELL:
        assert installed.shell(service, "SELECT llm('<{}>', 7) AS a;", "-csv").out == "a\n<7>\n"


@pytest.mark.long
def test_the_compiler_has_nothing_to_complain_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_install, "FLAGS", [*shell_install.FLAGS, "-Werror", "-Wpedantic", "-Wshadow"])
    assert build(tmp_path, header(sys.executable)).stat().st_size > 20_000


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_install, "compilers", list)
    with pytest.raises(UsageError, match="no C compiler found: install gcc, or `pip install ziglang`"):
        install(tmp_path)


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"(?s)could not compile DuckDB's extension:\n.*not a header"):
        build(tmp_path, '#error "not a header"\n')
    assert list(tmp_path.iterdir()) == []


def test_the_file_says_what_it_is_for(installed: Installed) -> None:
    end = footer(duckdb_platform())
    assert installed.extension.read_bytes().endswith(end)
    assert VERSION.encode() in end
    assert duckdb_platform() == duckdb.execute("PRAGMA platform").fetchall()[0][0]


def test_how_to_load_names_files_that_are_there(installed: Installed) -> None:
    told = how_to_load(installed.extension)
    for path in (installed.extension, installed.start_up(1), installed.start_up(2)):
        assert str(path) in told
        assert path.is_file()


@pytest.mark.long
def test_the_command_says_what_to_type(tmp_path: Path) -> None:
    done = relserve("shell", "--install", "--out", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    assert f"duckdb -unsigned -init {tmp_path}/new/relserve.sql" in done.stdout.decode()
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == [
        "relserve.duckdb_extension", "relserve.sql", "relserve_duckdb2.sql"
    ]  # fmt: skip


def test_a_greeting_tells_the_release(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("SELECT llm('{}', 1)").fetchall()
    (hello,) = service.greetings
    assert (hello["service"], hello["protocol"], hello["relserve"]) == ("calls", 1, VERSION)


@pytest.mark.engine_of_its_own
@pytest.mark.usefixtures("own_engines")
def test_the_first_call_starts_the_engine(installed: Installed) -> None:
    with connect(installed) as con, connect(installed) as other:
        for each in (con, other):
            each.execute("SET llm_model = 'scripted'")
            assert len(each.execute("SELECT DISTINCT llm('{}', i) FROM range(5) t(i)").fetchall()) == 5
            told = each.execute("SELECT model, state, rows FROM llm_queries()").fetchall()
            assert told == [("scripted", "done", 5)]
        status = [sys.executable, "-m", "relserve", "engine", "status", "--json"]
        shown = subprocess.run(status, capture_output=True, text=True, check=True, timeout=60).stdout
        assert shown.count('"model": "scripted"') == 1


@pytest.mark.long
@pytest.mark.usefixtures("own_engines")
def test_another_release_is_told_what_to_do() -> None:
    start = [sys.executable, "-m", "relserve", "engine", "start", "--model", "scripted", "--print-socket"]
    path = subprocess.run(start, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    async def greet(release: str) -> dict[str, object]:
        reader, writer = await asyncio.open_unix_connection(path)
        await write_json(writer, {"service": "calls", "protocol": 1, "relserve": release, "connection": "1"})
        answer = await read_json(reader)
        writer.close()
        return answer

    assert asyncio.run(greet(VERSION))["ok"]
    error = str(asyncio.run(greet("0.0.1"))["error"])
    assert f"runs relserve {VERSION}, this is 0.0.1" in error
    assert "relserve shell --install" in error


@pytest.mark.usefixtures("own_engines")
def test_a_model_that_is_not_there(installed: Installed) -> None:
    with connect(installed) as con:
        con.execute("SET llm_model = 'no such model'")
        with pytest.raises(duckdb.Error, match=r"(?s)the engine did not start: .*no such model"):
            con.execute("SELECT llm('{}', 1)").fetchall()


@pytest.mark.long
def test_a_python_that_is_gone(tmp_path: Path) -> None:
    with connect(built_for(tmp_path / "python", tmp_path)) as con:
        with pytest.raises(duckdb.Error, match=r"cannot run .*python, with which relserve was"):
            con.execute("SELECT llm('{}', 1)").fetchall()


@pytest.mark.engine_of_its_own
def test_a_start_that_fails_is_tried_once_whatever_the_threads(tmp_path: Path) -> None:
    broken, begun = tmp_path / "broken", tmp_path / "begun"
    broken.write_text(f"#!/bin/sh\necho $$ >> {begun}; sleep 1; echo no memory >&2; exit 1\n")
    broken.chmod(0o755)
    with connect(built_for(broken, tmp_path)) as con:
        con.execute("SET threads = 4; CREATE TABLE big AS SELECT range AS i FROM range(500000)")
        with pytest.raises(duckdb.Error, match="the engine did not start: no memory"):
            con.execute("SELECT count(llm('{}', i)) FROM big").fetchall()
    assert len(begun.read_text().split()) == 1


@pytest.mark.long
def test_ctrl_c_while_the_engine_starts(tmp_path: Path) -> None:
    slow, begun = tmp_path / "slow", tmp_path / "begun"
    slow.write_text(f"#!/bin/sh\necho $$ >> {begun}; exec sleep 600\n")
    slow.chmod(0o755)
    with connect(built_for(slow, tmp_path)) as con:
        con.execute("SET threads = 4; CREATE TABLE big AS SELECT range AS i FROM range(500000)")
        for sql in ("SELECT llm('{}', 1)", "SELECT count(llm('{}', i)) FROM big"):
            begun.write_text("")
            with interrupted_when(begun.read_text), pytest.raises(duckdb.Error, match="interrupted"):
                con.execute(sql).fetchall()
            (pid,) = begun.read_text().split()  # nor did another thread try it again
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)
