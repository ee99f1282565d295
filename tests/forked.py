"""Python programs in processes of their own, which find relserve imported: Python forks them off a server."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_S

PRELOADED = ["relserve.api", "relserve.cache.cache", "relserve.engines.scripted", "relserve_duckdb"]


def run_program(
    program: str, *args: str, env: Mapping[str, str], has_vllm: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program's text to its end, as `python -c` does, in a second less.

    Its standard input is empty. What Python and relserve read of the environment as they are imported is that
    of the first program.

    Args:
        env: the whole environment.
        has_vllm: it finds vLLM imported, too, which saves 10 s of a core.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        process = _process(has_vllm, (program, args, dict(env), str(out), str(err)))
        process.start()
        process.join((4 if has_vllm else 2) * PATIENCE_S)
        if process.exitcode is None:
            process.kill()
        assert process.exitcode is not None, "the program did not end"
        return subprocess.CompletedProcess(args, process.exitcode, out.read_text(), err.read_text())


def _process(has_vllm: bool, what: tuple[Any, ...]) -> BaseProcess:
    if has_vllm:
        from tests.prepared import PreparedProcess  # processes that have no use for it need not import it

        return PreparedProcess(target=run_here, args=what)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context.Process(target=run_here, args=what)


def run_command(*args: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `relserve` so; for `serve`, which limits the memory of its process and the like."""
    program = "import sys; sys.argv[0] = 'relserve'; from relserve.cli.main import main; main()"
    return run_program(program, *args, env=env)


def run_here(program: str, args: tuple[str, ...], env: dict[str, str], out: str, err: str) -> None:
    """Run a program's text in this process, which ends with it; its streams are files."""
    for number, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["-c", *args]
    try:
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
