"""The way to DuckDB's own connection inside a Python one: trusted only after a try."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from relserve_duckdb.describe import native


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    native.is_trusted.cache_clear()
    yield
    native.is_trusted.cache_clear()


def test_it_leads_to_the_very_connection() -> None:
    assert native.is_trusted()
    con = duckdb.connect()
    cursor = con.cursor()
    assert native.connection_of(con) == native.connection_of(con) != native.connection_of(cursor)
    con.close()
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        native.connection_of(con)


def test_no_other_object_is_looked_into() -> None:
    class Proxy:
        """What behaves like a connection."""

    assert native.is_reachable(duckdb.connect()) is native.is_trusted()
    assert not native.is_reachable(Proxy())  # type: ignore[arg-type]


def test_the_number_of_a_release_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb, "__version__", "2.0.17")
    assert native.is_trusted()


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "wrong",
    [
        "_CONNECTION_AT += 8",
        "_AFTER_HEAD -= 8",
        "_FUNCTIONS += (('function_that_went_away', 0, c_int),)",
        "found = connection_of(first := duckdb.connect()); connection_of = lambda con: found",
        "text_at = ctypes.string_at; ctypes.string_at = lambda *args: b'x' + text_at(*args)[1:]",
    ],
)
def test_a_release_in_which_something_else_stands_there_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    head, tail = Path(native.__file__).read_text().split("if __name__")
    path = tmp_path / "changed.py"
    path.write_text(f"{head}{wrong}\nif __name__{tail}")
    monkeypatch.setattr(native, "__file__", str(path))
    assert not native.is_trusted()


@pytest.mark.parametrize(
    "program", ["import os; os.abort()", "raise SystemExit(1)", "import ctypes; ctypes.string_at(0)"]
)
def test_a_try_that_fails_or_crashes_is_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    path = tmp_path / "crashing.py"
    path.write_text(program)
    monkeypatch.setattr(native, "__file__", str(path))
    assert not native.is_trusted()


def test_a_python_that_cannot_be_started_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not native.is_trusted()
