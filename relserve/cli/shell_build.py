"""DuckDB's extension, compiled on this machine."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from relserve.errors import UsageError
from relserve.version import VERSION

NAME = "relserve"
FILE_NAME = f"{NAME}.duckdb_extension"
API_VERSION = "v1.5.6"  # of DuckDB's stable C API, which this DuckDB and all later ones have
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-shared", "-pthread"]
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_SYSTEMS = {"Linux": "linux", "Darwin": "osx"}


def compilers() -> list[list[str]]:
    """The commands that compile C here, the best one first."""
    found = [[path] for name in ("gcc", "cc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found


def build(folder: Path, header: str, compiler: list[str] | None = None) -> Path:
    """Compile the extension and write it into the folder.

    Args:
        header: declared.h; see `shell_declared.header`.
        compiler: the command; None: the best that is here.

    Raises:
        UsageError: there is no compiler, it failed, or DuckDB has no name for this system.
    """
    place = duckdb_platform()
    if compiler is None:
        if not (found := compilers()):
            raise UsageError("no C compiler found: install gcc, or `pip install ziglang`")
        compiler = found[0]
    with tempfile.TemporaryDirectory() as work, as_file(files("duckdb_ext.shell")) as shell:
        (Path(work) / "declared.h").write_text(header, encoding="utf-8")
        library = Path(work) / "library.so"
        sources = sorted(str(path) for path in shell.glob("*.c"))
        _compile([*compiler, *FLAGS, f"-I{work}", f"-I{shell}", "-o", str(library), *sources])
        made = library.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    extension = folder / FILE_NAME
    whole = extension.with_suffix(".new")
    whole.write_bytes(made + footer(place))
    whole.replace(extension)  # a DuckDB that has the old one loaded keeps it
    return extension


def duckdb_platform() -> str:
    """What DuckDB calls this system, e.g. linux_amd64.

    Raises:
        UsageError: the extension cannot run on it.
    """
    system, machine = platform.system(), platform.machine()
    if system not in _SYSTEMS:
        raise UsageError(f"DuckDB's extension needs Linux or macOS, for Unix sockets; this is {system}")
    return f"{_SYSTEMS[system]}_{_MACHINES.get(machine, machine)}"


def footer(place: str) -> bytes:
    """What DuckDB reads at a file's end: a section of WebAssembly's form, eight fields, and no signature."""
    section = b"\0" + bytes([147, 4, 16]) + b"duckdb_signature" + bytes([128, 4])
    fields = ["", "", "", "C_STRUCT", VERSION, API_VERSION, place, "4"]
    return section + b"".join(field.encode().ljust(32, b"\0") for field in fields) + b"\0" * 256


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        printed = "\n".join(done.stderr.strip().splitlines()[-20:])
        raise UsageError(f"{command[0]} could not compile DuckDB's extension:\n{printed}")
