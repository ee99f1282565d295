"""The wheel, installed with its dependencies into an empty environment that has neither torch nor vLLM."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytestmark = [pytest.mark.package, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "relserve/": "",
    "duckdb_ext/relserve_duckdb/": "duckdb_ext/",
    "duckdb_ext/shell/": "",
    "kernels/relserve_kernels/": "kernels/",
}
NOT_OURS = ("PYTHON", "RELSERVE_", "OPENAI_", "VIRTUAL_ENV")

SQL = """
import relserve
con = relserve.connect(model="scripted")
rows = con.execute("SELECT i, llm('Say {}', i) FROM range(3) t(i)").fetchall()
assert [bool(answer) for _, answer in rows] == [True] * 3, rows
found = con.explain_llm("SELECT llm_filter('Is {} good?', i) FROM range(3) t(i)").table.to_pylist()
assert found[0]["distinct_prompts"] == 3, found
assert con.execute("SELECT sum(rows) FROM llm_queries()").fetchone() == (3,)
"""
ARROW = """
import pyarrow as pa, relserve
frame = pa.table({"review": ["a fine beer", "flat and sour", None]})
stars = relserve.llm_score(frame, "How many stars? {review}", lo=1, hi=5, model="scripted").to_pylist()
assert [star is None for star in stars] == [False, False, True], stars
"""
PANDAS = """
import pandas as pd, relserve
frame = pd.DataFrame({"review": ["a fine beer", None]}, index=["x", "y"])
answers = relserve.llm(frame, "Rate {review}", model="scripted")
assert list(answers.index) == ["x", "y"] and list(answers.isna()) == [False, True], answers
"""
HTTP = """
import sys, relserve
con = relserve.connect(model=sys.argv[1])
assert con.execute("SELECT llm('Say {}', i) FROM range(3) t(i)").fetchall() == [("a reply",)] * 3
assert con.execute("SELECT model, state FROM llm_queries()").fetchall() == [(sys.argv[1], "done")]
"""
MISSING = """
from importlib.util import find_spec
assert [name for name in ("torch", "vllm", "transformers", "pandas", "tests") if find_spec(name)] == []
"""


def files_of_packages() -> set[str]:
    """Every file that the wheel must hold, as the wheel names it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    prefix_of = {
        path: prefix for path in listed for folder, prefix in PACKAGES.items() if path.startswith(folder)
    }
    return {path.removeprefix(prefix_of[path]) for path in listed if (ROOT / path).is_file()}


def succeed(command: list[str], env: dict[str, str] | None = None) -> None:
    """Run a command that must succeed; the failure shows what it wrote."""
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this working tree, built from a copy, so that nothing left by other builds gets in."""
    source, out = tmp_path_factory.mktemp("source") / "tree", tmp_path_factory.mktemp("wheel")
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "results")
    )
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
        str(source),
    ]
    succeed(build)
    (built,) = out.glob("relserve-*.whl")
    return built


class Installed:
    """An environment that holds the wheel, what the wheel requires, and nothing else."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder / "venv")
        self._bin = folder / "venv" / "bin"
        self._folder = folder
        self.install(str(wheel))

    def install(self, what: str) -> None:
        """By the pip of this environment; byte code is made of what is imported."""
        pip = [sys.executable, "-m", "pip", "--python", str(self._bin / "python"), "install", "--no-compile"]
        succeed([*pip, "--quiet", "--disable-pip-version-check", what], self._environment())

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, in a folder that holds nothing of the repository."""
        return subprocess.run(
            [str(self._bin / command[0]), *command[1:]], cwd=self._folder, env=self._environment(),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def python(self, code: str, *args: str) -> None:
        done = self.run("python", "-W", "error::RuntimeWarning", "-c", code, *args)
        assert done.returncode == 0, done.stderr

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        return kept | {"RELSERVE_CACHE_DIR": str(self._folder / "cache")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Installed]:
    found = Installed(tmp_path_factory.mktemp("installed"), wheel)
    yield found
    found.run("relserve", "engine", "stop", "--model", "tiny")  # one that it started stays up for a while


class Handler(BaseHTTPRequestHandler):
    """A server of one model, which says the same to every prompt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._reply({"object": "list", "data": [{"id": "made-up", "object": "model", "owned_by": "a test"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "a reply"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self._reply({"object": "chat.completion", "choices": [choice], "usage": usage})

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output stays clean."""

    def _reply(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def url() -> Iterator[str]:
    """A made-up OpenAI-compatible server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_the_wheel_holds_the_packages_and_the_license_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    told = {name for name in names if ".dist-info/" not in name}
    assert told == files_of_packages()
    assert {"relserve/tiny/model/model.safetensors", "relserve/tiny/model/chat_template.jinja",
            "relserve/examples/reviews.csv", "relserve/examples/demo.sql", "relserve/py.typed",
            "relserve_duckdb/py.typed"} <= told  # fmt: skip
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata


def test_neither_torch_nor_vllm_comes_with_it(installed: Installed) -> None:
    installed.python(MISSING)


@pytest.mark.parametrize("code", [SQL, ARROW], ids=["sql", "arrow"])
def test_the_scripted_engine_answers(installed: Installed, code: str) -> None:
    installed.python(code)


def test_a_server_answers(installed: Installed, url: str) -> None:
    installed.python(HTTP, url)


def test_the_command_line_works(installed: Installed, url: str) -> None:
    assert "demo" in installed.run("relserve", "--help").stdout
    assert "scripted" in installed.run("relserve", "models").stdout
    asked = installed.run(
        "relserve", "sql", "SELECT llm('Say {}', 1) AS a", "--model", url, "--format", "csv"
    )
    assert (asked.stdout, asked.returncode) == ('"a"\n"a reply"\n', 0), asked.stderr
    shown = installed.run("relserve", "demo", "--model", "scripted")
    assert "Done in" in shown.stdout, shown.stderr


@pytest.mark.parametrize("command", [["demo"], ["sql", "SELECT llm('Say {}', 1)"], ["calibrate"]])
def test_what_needs_vllm_says_what_to_install(installed: Installed, command: list[str]) -> None:
    done = installed.run("relserve", *command)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("relserve: ")
    assert "vLLM" in last
    assert "pip install 'relserve[" in last
    assert "Traceback" not in done.stderr


def test_the_demo_without_vllm_is_one_line(installed: Installed) -> None:
    done = installed.run("relserve", "demo")
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_pandas_is_taken_when_it_is_there(installed: Installed) -> None:
    installed.install("pandas")
    installed.python(PANDAS)
