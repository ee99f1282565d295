"""Random templates, options, values and texts: no crash, no hang, no wrong type, DuckDB's own errors.

The suite runs a hundred, always the same. `python -m benchmarks.fuzz` sets FUZZ_CASES=10000, which draws
new ones each time, and FUZZ_REPORT, where the counts go.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_fuzz import world as worlds
from sql_fuzz.literals import Literal, literals, odd_texts, python_values, quoted, texts
from sql_fuzz.mutations import mutated
from sql_fuzz.statements import statements
from sql_fuzz.world import Outcome, World

from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS
from relserve.errors import OptionError, RelserveError, UsageError

NUM_CASES = int(os.environ.get("FUZZ_CASES", "100"))
TYPES = {
    "llm": str, "llm_filter": bool, "llm_classify": str, "llm_score": float, "llm_agg": str,
    "llm_int": int, "llm_double": float, "llm_bool": bool, "llm_date": datetime.date,
    "llm_prob": float, "llm_probs": dict, "llm_tags": list, "llm_decide": dict, "llm_embed": list,
}  # fmt: skip
BY_OPTIONS = ("llm_extract", "llm_quote")  # whose type hangs on their options

pytestmark = pytest.mark.timeout(0 if NUM_CASES > 1000 else 300)


def cases(percent: int) -> Callable[[Any], Any]:
    """A share of the cases."""
    return settings(
        max_examples=NUM_CASES * percent // 100,
        deadline=None,
        database=None,
        derandomize="FUZZ_CASES" not in os.environ,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The three connections, in a folder of their own."""
    world = World()
    with contextlib.chdir(tmp_path_factory.mktemp("fuzz")):
        yield world
        world.end()
    if report := os.environ.get("FUZZ_REPORT"):
        Path(report).write_text(json.dumps(worlds.seen), encoding="utf-8")


def same(with_prefetch: Outcome, without: Outcome) -> None:
    """Prefetch changes nothing but time."""
    assert with_prefetch.kind == without.kind, (with_prefetch.shown(), without.shown())
    assert repr(with_prefetch.rows) == repr(without.rows)


braced = st.one_of(
    texts, st.sampled_from(["{}", "{a}", "{b}", "{{", "}}", "{", "}", "{a b}", "{a.b[0]}", "{!r}"])
)
templates = st.lists(braced, max_size=5).map("".join)


@cases(20)
@given(templates, st.lists(literals, max_size=3), st.booleans())
def test_templates(world: World, template: str, values: list[Literal], as_parameter: bool) -> None:
    head = "$1" if as_parameter else quoted(template)
    text = f"SELECT llm({', '.join([head, *(value.sql for value in values)])})"
    outcome, plain, _ = world.run(text, [template] if as_parameter else None)
    same(outcome, plain)
    if outcome.rows is None:
        assert isinstance(outcome.error, UsageError | duckdb.Error | UnicodeDecodeError)
        return
    ((answer,),) = outcome.rows
    assert answer is None or type(answer) is str
    if not values:  # braces alone, as Python reads them
        assert answer == "".join(head for head, *_ in string.Formatter().parse(template)).strip()


option_values = st.one_of(
    literals.map(lambda literal: literal.sql),
    st.integers(-5, 2_000_000).map(str),
    st.floats(-1, 3).map(str),
    st.lists(texts, max_size=3).map(lambda items: f"[{', '.join(map(quoted, items))}]"),
    st.sampled_from(["NULL", "'null'", "'raise'", "['a', 'b']", "['a', NULL]", "[['a']]"]),
    st.sampled_from(["''", "'inf'::DOUBLE", "1e308", "[]", "true"]),
)
option_names = st.one_of(
    st.sampled_from(sorted(OPTIONS)), st.sampled_from(["max_token", "Seed", "prompt", "a0", "x"])
)


@cases(20)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.lists(st.tuples(option_names, option_values), max_size=3),
    st.booleans(),
)
def test_options(world: World, function: str, options: list[tuple[str, str]], from_table: bool) -> None:
    given_ones = "".join(f", {name} := {value}" for name, value in options)
    if "choices" in FUNCTIONS[function].required and from_table:
        given_ones += ", choices := ['p', 'q']"
    value, source = ("name", " FROM t") if from_table else ("'v 4'", "")
    template = "" if FUNCTIONS[function].template else "'{}', "
    outcome, plain, _ = world.run(f"SELECT {function}({template}{value}{given_ones}){source}")
    same(outcome, plain)
    if outcome.rows is None:
        assert isinstance(outcome.error, OptionError | duckdb.Error), outcome.shown()
        return
    for (answer,) in outcome.rows:
        assert answer is None or function in BY_OPTIONS or type(answer) is TYPES[function]
        assert type(answer) is not float or math.isfinite(answer)


@cases(15)
@given(literals, st.booleans())
def test_values(world: World, value: Literal, from_table: bool) -> None:
    source = f"(SELECT {value.sql} AS x)"
    if from_table:
        source = f"(VALUES ({value.sql}), (NULL)) v(x) WHERE x IS NOT NULL"
    printed = world.run(f"SELECT x::VARCHAR, x IS NULL FROM {source}")[2]
    outcome, plain, _ = world.run(f"SELECT llm('{{}}', x), x IS NULL FROM {source}")
    same(outcome, plain)
    assert outcome.kind == printed.kind, (outcome.shown(), printed.shown())
    if outcome.rows is None:
        return
    for answer, is_null in outcome.rows:
        assert (
            answer is None
        ) == is_null or "union_value" in value.sql  # a union that holds NULL reads as NULL
        assert answer is None or type(answer) is str
    if value.prints_alike:
        assert outcome.rows == sorted(
            ((None if text is None else text.strip(), null) for text, null in printed.rows or ()), key=repr
        )


@cases(10)
@given(st.one_of(odd_texts, st.sampled_from(["{}", "{a}", "{a} {b}"])), st.lists(python_values, max_size=2))
def test_parameters(world: World, template: str, values: list[Any]) -> None:
    marks = "".join(f", ${i}" for i in range(2, len(values) + 2))
    parameters = [template, *values]
    outcome, plain, _ = world.run(f"SELECT llm($1{marks})", parameters)
    same(outcome, plain)
    shown = ", ".join(f"(${i})::VARCHAR" for i in range(1, len(parameters) + 1))
    bound = world.run(f"SELECT {shown}", parameters)[2]
    if bound.error is not None:
        assert outcome.kind == bound.kind or isinstance(outcome.error, RelserveError), (
            outcome.shown(),
            bound.shown(),
        )
    elif outcome.error is not None:
        assert isinstance(outcome.error, UsageError), outcome.shown()


@cases(20)
@given(statements())
def test_statements(world: World, text: str) -> None:
    before = world.asked() if text.startswith(("EXPLAIN", "DESCRIBE")) else None
    outcome, plain, oracle = world.run(text)
    same(outcome, plain)
    assert outcome.kind == oracle.kind, (outcome.shown(), oracle.shown())
    assert outcome.rows == oracle.rows
    assert before is None or world.asked() == before


@cases(15)
@given(mutated())
def test_broken_texts(world: World, text: str) -> None:
    outcome, plain, oracle = world.run(text)
    same(outcome, plain)
    if isinstance(outcome.error, RelserveError):
        assert "llm" in text.lower()
        return
    if outcome.error is None and not duckdb.extract_statements(text):
        return  # a comment alone
    if outcome.error is not None and "No function matches" in str(oracle.error):
        return  # what a template or value of another type meets inside the oracle's own macros
    if outcome.kind == "ParserException" and ";" in text and oracle.error is not None:
        return  # DuckDB runs what stands before a syntax error, and may fail there; we read it all first
    assert outcome.kind == oracle.kind, (outcome.shown(), oracle.shown())
    if not any("[" in str(value) or "{" in str(value) for row in oracle.rows or () for value in row):
        assert outcome.rows == oracle.rows  # lists and structs are JSON in our prompts
