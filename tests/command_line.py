"""The command `relserve` in this process: one of its own takes a second to import what is here already."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from typing import Any

import pytest

from relserve.cli.main import main


def relserve(
    *args: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, as `subprocess.run` does.

    Not `relserve serve`, which limits the memory of its process.

    Args:
        env: variables of the environment besides those that there are.
    """
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
    status: Any = 0
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")
        patch.setattr(sys, "argv", ["relserve", *args])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    out, err = (_bytes_of(stream) for stream in streams.values())
    return subprocess.CompletedProcess(args, status, out, err)


def _bytes_of(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    return stream.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]
