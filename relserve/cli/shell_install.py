"""`relserve shell --install`: the llm functions for the stock `duckdb` command and other hosts of DuckDB."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path

import pyarrow as pa
import pyarrow.types as kinds
from relserve_duckdb.text.call_limits import AGGREGATE, LISTS
from relserve_duckdb.udf.macros import GROUP, LIST, ROW, Slots, body_of, parameters_of
from relserve_duckdb.udf.site import sql_type_of

from relserve.call.options import FUNCTIONS
from relserve.errors import UsageError
from relserve.linking.schema import literal
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA
from relserve.version import VERSION

START_UP = {1: "relserve.sql", 2: "relserve_duckdb2.sql"}  # by DuckDB's major version
_NAME = "relserve"
_FILE_NAME = f"{_NAME}.duckdb_extension"
_API_VERSION = "v1.5.6"  # of DuckDB's stable C API, which this DuckDB and all later ones have
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-shared", "-pthread"]
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_SYSTEMS = {"Linux": "linux", "Darwin": "osx"}
_PRIVATE = "__relserve_"  # begins the names of the functions that the macros call
_DUCKDB_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE"}
# Makes DuckDB 1 leave a call without columns to the execution, so that planning and EXPLAIN ask nothing: an
# expression that cannot be folded, because of what is in its lambda, and is not volatile.
_AT_RUN_TIME = (
    "system.main.list_transform(system.main.list_value(true), "
    "lambda x: x AND system.main.current_query_id() >= 0)[1]"
)


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


def compilers() -> list[list[str]]:
    """The commands that compile C here, the best one first."""
    found = [[path] for name in ("gcc", "cc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found


def build(folder: Path, header: str, compiler: list[str] | None = None) -> Path:
    """Compile the extension and write it into the folder.

    Args:
        header: declared.h; see `header`.
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
    extension = folder / _FILE_NAME
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
    fields = ["", "", "", "C_STRUCT", VERSION, _API_VERSION, place, "4"]
    return section + b"".join(field.encode().ljust(32, b"\0") for field in fields) + b"\0" * 256


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        printed = "\n".join(done.stderr.strip().splitlines()[-20:])
        raise UsageError(f"{command[0]} could not compile DuckDB's extension:\n{printed}")


def header(python: str) -> str:
    """declared.h: the functions, the tables' columns, and the command that starts the engine.

    Args:
        python: the interpreter that has relserve.
    """
    return "\n".join(
        [
            "/* Written by `relserve shell --install`. */",
            f"#define RELSERVE_VERSION {json.dumps(VERSION)}",
            f"#define RELSERVE_PYTHON {json.dumps(python)}",
            f"#define RELSERVE_PRIVATE {json.dumps(_PRIVATE)}",
            _list("RELSERVE_FUNCTIONS", ((name, _answered(name)) for name in FUNCTIONS)),
            _list("RELSERVE_LLM_QUERIES", _columns(QUERY_SCHEMA)),
            _list("RELSERVE_LLM_ERRORS", _columns(ERROR_SCHEMA)),
            "",
        ]
    )


def start_up(extension: Path, duckdb_major: int) -> str:
    """The SQL that a connection runs first: LOAD, and a TEMP macro a function, which stays in no file.

    Args:
        duckdb_major: 1 or 2; DuckDB 2 has llm_agg as an aggregate, and a barrier that has cheap predicates
            evaluated first.
    """
    lines = [f"LOAD {literal(str(extension))};"]
    for function, spec in FUNCTIONS.items():
        if not spec.aggregate:
            lines.append(_macro(function, function, ROW, duckdb_major))
    for function, listed in LISTS.items():
        if function != AGGREGATE or duckdb_major < 2:
            lines.append(_macro(function, function, GROUP, duckdb_major))
        lines.append(_macro(listed, function, LIST, duckdb_major))
    return "\n".join(lines) + "\n"


def _macro(name: str, function: str, slots: Slots, duckdb_major: int) -> str:
    hidden = "NULL" if duckdb_major >= 2 else _AT_RUN_TIME
    body = body_of(function, slots, f"system.main.{_PRIVATE}{function}", [hidden])
    if _answered(function) != (kind := sql_type_of(function)):
        body = f"CAST({body} AS {kind})"
    body = f"system.main.__internal_barrier({body})" if duckdb_major >= 2 else body
    return f"CREATE OR REPLACE TEMP MACRO {name}{parameters_of(function, slots)} AS {body};"


def _answered(function: str) -> str:
    """The type in which the extension gets answers; lists come as texts."""
    kind = sql_type_of(function)
    return "VARCHAR" if kind.endswith("[]") else kind


def _list(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    return f"#define {name}(DO) " + " ".join(f"DO({each}, {kind})" for each, kind in pairs)


def _columns(schema: pa.Schema) -> Iterable[tuple[str, str]]:
    for field in schema:
        yield field.name, "TIMESTAMP" if kinds.is_timestamp(field.type) else _DUCKDB_TYPES[str(field.type)]
