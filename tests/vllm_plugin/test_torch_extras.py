"""A torchvision that does not fit the installed torch is hidden, and engines start all the same."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from relserve.vllm_plugin.torch_extras import hide_misfits
from tests.waiting import PATIENCE_S

BROKEN = "from . import ops\nraise RuntimeError('operator torchvision::nms does not exist')\n"
SCRIPT = """
import transformers  # which looks once what is installed
import relserve
with relserve.connect(progress=False) as con:
    print(con.sql("SELECT llm_filter('Is {} good?', 'soup') IS NOT NULL").fetchall())
"""


def package(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / name / "ops.py").write_text("")


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


@pytest.mark.long
@pytest.mark.vllm
def test_an_engine_starts_beside_a_torchvision_of_another_build(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    package(tmp_path, "torchvision", BROKEN)
    ours = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *ours])}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 4,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[(True,)]"
