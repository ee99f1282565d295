"""Limits on the time of a call's tokens: classes by name, limits as they are, and what is wrong with some."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from relserve.call.options import FUNCTIONS, parse_options
from relserve.call.questions import EXAMPLE
from relserve.call.slo import Slo, slo_of
from relserve.errors import OptionError, UsageError

CLASSES = '{"interactive": {"ttft": "1 s", "tpot": "50 ms"}, "batch": {"ttft": 600}}'


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", CLASSES)


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize("function", [name for name, spec in FUNCTIONS.items() if not spec.model])
def test_every_function_that_writes_takes_a_class(function: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "llm_classify": {"choices": ["a", "b"]}, "llm_probs": {"choices": ["a", "b"]},
        "llm_tags": {"choices": ["a"]}, "llm_decide": {"questions": EXAMPLE},
        "llm_extract": {"schema": '{"a": "BIGINT"}'},
    }  # fmt: skip
    given = {"slo": "interactive", **more.get(function, {})}
    assert parse_options(function, given).slo == Slo(1.0, 0.05, "interactive")


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("batch", Slo(600.0, None, "batch")),
        ({"ttft": 2, "tpot": "20 ms"}, Slo(2.0, 0.02)),
        ({"tpot": timedelta(seconds=0.5), "ttft": None}, Slo(None, 0.5)),
    ],
)
def test_a_class_or_limits(value: Any, expected: Slo) -> None:
    assert slo_of("slo", value) == expected


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("interactiv", "no class 'interactiv'; there are: batch, interactive"),
        (5, "slo must be the name of a class, or limits such as"),
        ({}, "slo has no limit; give ttft, tpot or both"),
        ({"tbt": 1}, "slo has no limit 'tbt'; there are ttft and tpot"),
        ({"tpot": 0}, r"slo tpot must be from 0.001 seconds to 7 days.*, not 0"),
        ({"tpot": -1}, r"slo tpot must be from 0.001 seconds"),
        ({"ttft": 1e9}, r"slo ttft must be from 0.001 seconds to 7 days"),
        ({"ttft": float("nan")}, r"slo ttft must be a length of time"),
        ({"ttft": "soon"}, r"slo ttft must be a length of time"),
        ({"ttft": True}, r"slo ttft must be a length of time"),
    ],
)
def test_what_is_no_limit_is_refused(value: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        slo_of("slo", value)


def test_without_classes_the_error_says_how_to_define_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELSERVE_SLO_CLASSES", raising=False)
    with pytest.raises(OptionError, match=r"no class 'fast'; there are none. RELSERVE_SLO_CLASSES defines"):
        slo_of("slo", "fast")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ('{"fast": {"tpot": 0}}', r"RELSERVE_SLO_CLASSES, 'fast': tpot must be from 0.001 seconds"),
        ('{"fast": 3}', r"RELSERVE_SLO_CLASSES: 'fast' is 3, not limits such as"),
        ("[1]", "RELSERVE_SLO_CLASSES=.* cannot be read"),
    ],
)
def test_classes_that_cannot_be_are_refused(
    classes: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", classes)
    with pytest.raises(UsageError, match=message):
        slo_of("slo", "fast")
