"""What the development environment is made of is known by its content, not by names and versions alone."""

from __future__ import annotations

import re
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
    for name, words in re.findall(r"(?m)^(\w+) := (.* pip install .*)$", text):
        text = text.replace(f"$({name})", words)
    parts = [part for line in text.splitlines() for part in line.split("&&")]
    commands = [part for part in parts if re.search(r"-r \S+\.lock", part)]
    assert len(commands) >= 5
    assert [command for command in commands if "--require-hashes" not in command] == []
