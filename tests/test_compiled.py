"""Workers of a fresh clone compile each file once."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc

from tests.compiled import compile_files, share_of


def test_all_files_are_shared_out() -> None:
    shares = [share_of(number, 3) for number in range(3)]
    paths = [path for share in shares for path in share]
    assert len(set(paths)) == len(paths)
    assert Path(__file__) in paths


def test_pytest_takes_what_was_compiled(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    test, helper = tmp_path / "test_some.py", tmp_path / "helper.py"
    for path in (test, helper):
        path.write_text("def test_one():\n    one = 1\n    assert one == 2\n")
    compile_files([test, helper], request.config)
    pyc = tmp_path / "__pycache__" / f"test_some{PYC_TAIL}"
    code = _read_pyc(test, pyc)
    assert code is not None
    assert "@pytest_ar" in code.co_names
    assert Path(cache_from_source(str(helper))).exists()
    written = pyc.stat().st_mtime_ns
    compile_files([test], request.config)
    assert pyc.stat().st_mtime_ns == written
