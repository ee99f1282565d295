"""A torchvision that does not fit the installed torch is hidden.

An engine that starts beside one is in tests/engines/local/test_engine_traces.py.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from relserve.vllm_plugin.torch_extras import hide_misfits

BROKEN = "from . import ops\nraise RuntimeError('operator torchvision::nms does not exist')\n"


def package(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / name / "ops.py").write_text("")


def misfit(folder: Path) -> dict[str, str]:
    """The environment of a program that finds a torchvision of another build there."""
    package(folder, "torchvision", BROKEN)
    ours = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *ours])}


def test_what_cannot_be_imported_looks_as_if_it_was_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, "extra_broken", BROKEN)
    package(tmp_path, "extra_fine", "import warnings\nfrom . import ops\nwarnings.warn('no images')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        check_hiding()
    finally:
        for name in [each for each in sys.modules if each.startswith("extra_")]:
            del sys.modules[name]


def check_hiding() -> None:
    assert hide_misfits(["extra_broken", "extra_fine", "extra_absent"]) == ["extra_broken"]
    assert find_spec("extra_broken") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("extra_broken")
    assert "extra_broken.ops" not in sys.modules
    assert importlib.import_module("extra_fine").ops
    assert hide_misfits(["extra_broken", "extra_fine"]) == []
