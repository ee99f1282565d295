"""Every regular expression of the tree against near misses: time and memory grow as the text does.

`re` holds Python's lock while it works and nothing interrupts it: one that backtracks stops a whole server.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import relserve
from tests.patterns.collected import CALLS, Pattern
from tests.patterns.growth import different, slow
from tests.patterns.near_misses import repeats
from tests.patterns.tables import FILES

ROOT = Path(relserve.__file__).parents[1]
LONGEST_S = 900  # for some twenty seconds of work; whoever takes longer does not end


@pytest.mark.long
def test_no_pattern_of_the_tree_takes_more_than_linear_time_and_memory() -> None:
    program = [sys.executable, "-m", "tests.patterns.growth", str(ROOT)]
    try:
        ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode().splitlines()
        pytest.fail(f"the last of these does not end: {said[-1:]}")
    assert ran.returncode == 0, ran.stderr
    first, *lines = map(json.loads, ran.stdout.splitlines())
    assert first["patterns"] > 200
    untold = {place.rpartition(":")[0] for place in first["unknown"]} - FILES
    assert not untold, "patterns that only a run tells: give them in tests/patterns/tables.py"
    assert [line for line in lines if "slow" in line] == []


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"(?is)\A(?:\s|--[^\n]*\n|/\*.*?\*/)*select\b", "match"),
        (r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*COPY\b", "match"),
        (r"\n*LINE (\d+): ([^\n]*)\n( *)\^[\^~]*\s*$", "search"),
        (r"(?is)declare\s+(\w+)\s+(.*?)\bcursor\b", "match"),
        (r"(?s)\$(?P<tag>\w*)\$.*?\$(?P=tag)\$", "finditer"),
        (r"(?s)/\*.*?\*/", "finditer"),
        (r"'(?:[^']|'')*'", "match"),
        (r'((?:"(?:[^"]|"")*"|[^",])+)(?:,|$)', "findall"),
        (r"model\b.*(does not exist|not found)", "search"),
        (r"\s*'?(\d+)\s*(ms|s|)'?\s*", "fullmatch"),
        (r"(a|b|ab)*c", "match"),
    ],
)
def test_what_backtracks_is_found(text: str, method: str) -> None:
    flags = re.DOTALL if "COPY" in text else 0
    assert slow(Pattern("here", text, flags, (method,)), method) is not None


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"(?is)\A(?:\s++|--[^\n]*+\n|/\*(?:[^*]++|\*(?!/))*+\*/)*+select\b", "match"),
        (r"'(?:[^']++|'')*+'", "match"),
        (r"\w+(?=,)", "match"),
        (r"(?<!\d)\d++/\d++", "findall"),
    ],
)
def test_what_does_not_is_left_alone(text: str, method: str) -> None:
    assert slow(Pattern("here", text, 0, (method,)), method) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", False), ("(a)?b", False), ("(?P<q>['\"])x(?P=q)", False), (r"\bcost\b|pa(y|id)", False),
        ("a*", True), ("(?:x(a|b{0,9}))", True), ("a++", True), ("(?>a+?)", True), ("(?=(?:ab)+)c", True),
        ("(a)?(?(1)b+|c)", True),
    ],
)  # fmt: skip
def test_what_repeats_nothing_is_told_from_what_does(text: str, expected: bool) -> None:
    assert repeats(text, 0) is expected


def test_one_method_is_tried_of_those_that_go_through_a_text() -> None:
    assert different(CALLS) == ["finditer", "match", "fullmatch"]
    assert different(("fullmatch", "search")) == ["fullmatch", "search"]
    assert different(("search", "sub", "split")) == ["split", "search"]
