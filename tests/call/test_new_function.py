"""What one entry in FUNCTIONS gives a contributor, with and without a template: see new_function."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.call.new_function import CALLS, LANGUAGES, TEMPLATE

FUNCTION = "llm_language"


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the program printed."""
    run = subprocess.run([sys.executable, "-m", "tests.call.new_function"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answers: dict[str, Any] = json.loads(run.stdout)
    return answers


def test_in_sql_both_ask_the_same(found: dict[str, Any]) -> None:
    rows = found["sql"][FUNCTION]
    assert rows == found["sql"]["llm_language_of"]
    assert [row[1] in LANGUAGES for row in rows] == [True, False, True]
    assert rows[1] == [2, None]
    assert found["records"] == [[name, 3, 2, TEMPLATE] for name in CALLS]


def test_a_filter_on_it_asks_only_what_it_must(found: dict[str, Any]) -> None:
    assert found["filter"] == [[1]]
    assert found["after filter"] == [[1]]


def test_explain_writes_it_as_users_do(found: dict[str, Any]) -> None:
    assert "llm_language(text, max_tokens := 5)" in found["explain"]


def test_mistakes_are_told_before_anything_is_asked(found: dict[str, Any]) -> None:
    missing, too_many, unknown = found["mistakes"]
    assert "placeholder {} has no argument" in missing
    assert "argument 2 has no placeholder" in too_many
    assert "llm_language() has no option 'lo'" in unknown


def test_dataframes_have_it_without_a_template(found: dict[str, Any]) -> None:
    assert found["frame"] == found["series"] == found["frame of"]
    assert [answer is None for answer in found["frame"]] == [False, True, False]
    assert ["template:" in text for text in found["help"]] == [False, True]
    assert found["awaited"] == "allm_language"


def test_the_extension_in_c_declares_it(found: dict[str, Any]) -> None:
    assert "DO(llm_language, VARCHAR)" in found["header"]
    (macro,) = found["macros"]
    assert "(prompt" not in macro
    assert TEMPLATE.replace("'", "''") in macro
