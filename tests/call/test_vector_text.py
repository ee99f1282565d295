"""Vectors as texts, and back: as numbers, as a column, as JSON."""

from __future__ import annotations

import json

import pytest

from relserve.call.vector_text import column_of_texts, json_of_text, text_of_vector, vector_of_text
from relserve.call.vectors import Vector


def test_a_vector_is_told_by_its_direction() -> None:
    text = text_of_vector([3, 0, 4])
    assert text is not None
    assert vector_of_text(text).tolist() == pytest.approx([0.6, 0, 0.8])
    assert json.loads(json_of_text(text)) == pytest.approx([0.6, 0, 0.8], abs=1e-6)
    assert Vector().parse(text).value == text
    assert [text_of_vector(each) for each in ([0, 0], [float("nan")], [float("inf"), 1], [])] == [None] * 4


def test_a_column_has_null_where_there_is_no_text() -> None:
    texts = [None, text_of_vector([1]), None, text_of_vector([0, 2]), None]
    assert column_of_texts(texts).to_pylist() == [None, [1], None, [0, 1], None]
    assert column_of_texts([]).to_pylist() == []
    assert column_of_texts([None]).to_pylist() == [None]


@pytest.mark.parametrize("text", ["", "[0.5,0.5]", "abc"])
def test_what_is_no_vector_is_a_failure(text: str) -> None:
    assert Vector().parse(text).failure is not None
