"""What the development environment is made of is known by its content, not by names and versions alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
ENTRY = re.compile(r"[a-z0-9][a-z0-9._-]*==[^\s;]+(?: \\\n    --hash=sha256:[0-9a-f]{64})+")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_has_one_version_and_its_hashes(lock: Path) -> None:
    text = re.sub("(?m)^#.*\n", "", lock.read_text(encoding="utf-8"))
    assert ENTRY.findall(text)
    assert ENTRY.sub("", text).split() == []
    names = re.findall("(?m)^([^ =]+)==", text)
    assert names == sorted(set(names))


def test_no_lock_is_installed_without_looking_at_them() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    parts = [part for line in text.splitlines() for part in line.split("&&")]
    commands = [part for part in parts if re.search(r"-r \S+\.lock", part)]
    assert len(commands) >= 5
    assert [command for command in commands if not re.search(r"\$\(LOCKED\)|--require-hashes", command)] == []
    script = (ROOT / "requirements" / "install.sh").read_text(encoding="utf-8")
    installs = [line for line in script.splitlines() if " pip install " in line]
    assert len(installs) == 2
    assert all(" $locked " in line for line in installs)
    assert re.search('(?m)^locked=".* --require-hashes', script)


def made_up(program: Path, text: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.parametrize("uv", ["exit 0", "echo no such index >&2; exit 1", None])
def test_pip_installs_what_uv_does_not(uv: str | None, tmp_path: Path) -> None:
    """uv gets the index of pip's settings; pip is asked where uv fails or is not there."""
    pip = 'if [ "$3" = config ]; then echo https://index.test/simple; else echo "pip: $*"; fi'
    made_up(tmp_path / "python", pip)
    if uv is not None:
        made_up(tmp_path / ".venv" / "bin" / "uv", f'echo "uv at $UV_DEFAULT_INDEX: $*"; {uv}')
    command = [ROOT / "requirements" / "install.sh", "./python", "-r", "some.lock"]
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_INDEX_URL")}
    clean.pop("UV_DEFAULT_INDEX", None)
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=clean)
    options = "--quiet --no-deps --require-hashes -r some.lock"
    by_uv = [f"uv at https://index.test/simple: pip install --python ./python {options}"]
    by_pip = [f"pip: -m pip install --disable-pip-version-check {options}"]
    said = (by_uv if uv is not None else []) + (by_pip if uv != "exit 0" else [])
    assert run.stdout.splitlines() == said
