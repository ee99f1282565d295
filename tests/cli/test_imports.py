"""What a command imports: a warm `relserve sql` is mostly imports, so none may load what it does not use."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from relserve.cli import loading
from tests.command_line import relserve

SQL = "SELECT llm('say {}', range), llm_filter('is {} odd?', range) FROM range(4)"
ENGINES = {
    "openai", "torch", "vllm", "transformers", "relserve.engines.local.engine", "relserve.gate.gate",
    "relserve.policies.scheduling.variants",
}  # fmt: skip
QUESTIONS = {"relserve.text2sql.pipeline", "relserve.linking.pointer"}
SLOW = {"pyarrow.compute", "pyarrow.dataset"}
SCREENS = {"tqdm", "prompt_toolkit", "pygments", "matplotlib", "pandas"}


def loaded(code: str, unwanted: set[str]) -> str:
    """Those of the modules that some code in a process of its own leaves loaded."""
    text = f"import sys\n{code}\nprint(sorted({unwanted!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()[-1]


def test_help_needs_neither_duckdb_nor_a_client_nor_a_screen() -> None:
    unwanted = {"duckdb", "pyarrow", "numpy", "sqlglot"} | ENGINES | SCREENS | {"rich.console"}
    assert loaded("import relserve.cli.main", unwanted) == "[]"


@pytest.mark.cells(1)
@pytest.mark.parametrize("command", [["sql", SQL, "--format", "csv"], ["sql", "SELECT 1", "--format", "csv"]])
def test_a_query_imports_no_engine_that_it_does_not_start(command: list[str]) -> None:
    code = (
        "from relserve.cli.main import app\n"
        f"app({[*command, '--model', 'scripted', '--no-cache']!r}, standalone_mode=False)"
    )
    assert loaded(code, ENGINES | QUESTIONS | SCREENS | SLOW) == "[]"


@pytest.mark.long
def test_a_client_of_a_shared_engine_imports_none_of_its_policies() -> None:
    code = (
        "import relserve\nfrom relserve.engines.registry import shared_engine\n"
        "from relserve.settings import load\nrelserve.connect\n"
        "from relserve.session.open_relquery import pace_key\n"
        "assert pace_key(shared_engine('tiny', load())) != 'tiny'"
    )
    assert loaded(code, ENGINES | QUESTIONS | SCREENS) == "[]"


@pytest.mark.parametrize("command", ["sql", "explain", "ask", "shell"])
def test_a_command_that_imports_much_says_so_first(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(loading, "loading_line", lambda what: told.append(what) or nullcontext())
    relserve(command, *(["SELECT 1"] if command in ("sql", "explain") else []))
    assert told == [loading.LOADING]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize(("given", "left"), [(None, "None 1"), ("1", "1 1")])
def test_numpy_starts_no_threads_and_the_environment_is_as_before(given: str | None, left: str) -> None:
    code = (
        "import os\nfrom relserve.cli.loading import THREADS, loading\n"
        "with loading(): import numpy\n"
        "print(os.environ.get(THREADS), len(os.listdir('/proc/self/task')))"
    )
    environ = {name: value for name, value in os.environ.items() if name != loading.THREADS}
    environ |= {} if given is None else {loading.THREADS: given}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environ
    )
    assert done.stdout.strip() == left
