"""CREATE MACRO is told from other statements, and whether it takes parameters."""

from __future__ import annotations

import pytest
from relserve_duckdb.text.macros import has_parameters, makes_macro

MACROS = [
    ("CREATE MACRO m(a) AS a", True),
    ('/* x */ create or replace temp function main."m x"(a, b := 1) AS TABLE FROM t', True),
    ("CREATE MACRO IF NOT EXISTS m() AS TABLE FROM t, (SELECT 1) AS u, (VALUES (1)) AS w(a)", False),
    ("CREATE MACRO m() AS 1, (a) AS 2", True),
    ("CREATE MACRO m() AS count(a)", False),
]


@pytest.mark.parametrize(("text", "expected"), MACROS)
def test_parameters_of_a_macro_are_seen(text: str, expected: bool) -> None:
    assert makes_macro(text)
    assert has_parameters(text) == expected


@pytest.mark.parametrize("text", ["CREATE TABLE macro(a INT)", "SELECT 1", "CREATE VIEW function AS FROM t"])
def test_other_statements_make_no_macro(text: str) -> None:
    assert not makes_macro(text)
