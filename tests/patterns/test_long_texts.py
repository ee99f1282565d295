"""Texts of a user's that stopped a server, or took gigabytes, are read at once and in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import relserve

ROOT = Path(relserve.__file__).parents[1]
LONGEST_S = 300  # for two seconds of work
MOST_BYTES = 80  # for each character of a text of nothing but tokens
MOST_OF_LITERAL = 5


def test_long_texts_are_read_at_once() -> None:
    program = [sys.executable, "-m", "tests.patterns.long_texts"]
    try:
        ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"the last of these does not end: {(late.stdout or b'').decode().splitlines()[-1:]}")
    assert ran.returncode == 0, ran.stderr
    lines = map(json.loads, ran.stdout.splitlines())
    held = {line["done"]: line["bytes"] for line in lines if "done" in line}
    assert len(held) > 30
    for name, num_bytes in held.items():
        assert num_bytes < (MOST_OF_LITERAL if "literal" in name else MOST_BYTES), name
