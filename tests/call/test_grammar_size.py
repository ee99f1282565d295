"""Grammars that are too large are refused when the call is bound, with what to do instead."""

from __future__ import annotations

import json
import time

import pytest

from relserve.call.grammar_size import MAX_SIZE, TEXT_SIZE, VALUE_SIZE, size_of, size_of_texts
from relserve.call.options import parse_options
from relserve.call.schema import shape_of
from relserve.errors import OptionError


def test_common_beginnings_count_once() -> None:
    assert size_of_texts(["yes", "no"]) == 5
    assert size_of_texts(["red wine", "red beer", "red"]) == len("red wine") + len("beer")
    assert size_of_texts(["10", "1", "11", "1"]) == 3
    assert size_of_texts(["Köln"]) == 5
    assert size_of_texts(["\ud800"]) == 3


def test_what_is_in_a_list_counts_twice() -> None:
    assert size_of(shape_of('"DATE"')) == VALUE_SIZE
    assert size_of(shape_of('[["VARCHAR"]]')) == 4 * TEXT_SIZE
    assert size_of(shape_of('{"a": "VARCHAR", "b": {"c": ["INTEGER"]}}')) == (
        TEXT_SIZE + 2 * VALUE_SIZE + 3 * (len('"a"') + 10)
    )
    assert size_of(shape_of("\"ENUM('low', 'lower')\"")) == len("lower")


@pytest.mark.parametrize("function", ["llm", "llm_classify"])
def test_too_many_choices_are_refused(function: str) -> None:
    choices = [f"{i:06d}" for i in range(0, 1_000_000, 100)]
    assert size_of_texts(choices) < MAX_SIZE
    parse_options(function, {"choices": choices})
    choices = [f"{i:06d}" for i in range(0, 1_000_000, 50)]
    with pytest.raises(
        OptionError, match=r"^choices have 51,110 bytes in all.* the most is 40,000.*\nTake few"
    ):
        parse_options(function, {"choices": choices})


@pytest.mark.parametrize(
    ("schema", "size"),
    [
        ({f"f{i:03d}": "VARCHAR" for i in range(300)}, "52,800"),
        ({"kind": f"ENUM({str([f'{i:05d} kinds' for i in range(20_000)])[1:-1]})"}, "142,2.."),
        ({"rows": [{f"f{i:03d}": "INTEGER" for i in range(300)}]}, "45,616"),
        ("VARCHAR" + "[]" * 15, "5,242,880"),  # its regex would have 4 million letters
    ],
)
def test_a_schema_that_is_too_large_is_refused(schema: object, size: str) -> None:
    with pytest.raises(OptionError, match=rf"^schema makes a grammar of size {size};.*\nSplit it into two"):
        parse_options("llm_extract", {"schema": json.dumps(schema)})


def test_deep_types_are_refused_as_deep_schemas_are() -> None:
    with pytest.raises(OptionError, match="nested more than 16 deep"):
        parse_options("llm_extract", {"schema": "VARCHAR" + "[]" * 40})


@pytest.mark.long
def test_large_calls_are_checked_in_no_time() -> None:
    began_s = time.process_time()
    with pytest.raises(OptionError, match="choices have"):
        parse_options("llm_classify", {"choices": [f"choice {i}" for i in range(50_000)]})
    with pytest.raises(OptionError, match="schema makes"):
        parse_options("llm_extract", {"schema": {f"f{i}": "BOOLEAN" for i in range(20_000)}})
    assert time.process_time() - began_s < 5
