"""`relserve shell --install`: the llm functions for the stock `duckdb` command and other hosts of DuckDB."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from relserve.cli.shell_build import build
from relserve.cli.shell_declared import header, start_up

START_UP = {1: "relserve.sql", 2: "relserve_duckdb2.sql"}  # by DuckDB's major version


def default_folder() -> Path:
    """Where the extension goes if nothing else is said."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "relserve"


def install(folder: Path, compiler: list[str] | None = None) -> Path:
    """Compile the extension and write it, and the SQL that loads it, into a folder.

    Returns:
        The extension's file; beside it are the files of `START_UP`.

    Raises:
        UsageError: see `build`.
        OSError: the folder cannot be written.
    """
    extension = build(folder.resolve(), header(sys.executable), compiler)
    for major, name in START_UP.items():
        extension.with_name(name).write_text(start_up(extension, major), encoding="utf-8")
    return extension


def run(out: Path | None) -> None:
    """Install into this folder, or the usual one, and say how to load it; raises as `install`."""
    print(how_to_load(install(out or default_folder())))


def how_to_load(extension: Path) -> str:
    """What to type, in a few lines."""
    first, second = (extension.with_name(START_UP[major]) for major in (1, 2))
    return (
        f"DuckDB's extension is in {extension}\n"
        f"  duckdb -unsigned -init {first}\n"
        f"  in a shell that runs already, if it was started with -unsigned:  .read {first}\n"
        f"  in a program on DuckDB 2: allow unsigned extensions; run the text of {second} on each connection"
    )
