"""What the proxy 'embedding' learns from: vectors, and the words beside them."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest

from relserve.errors import Cancelled
from relserve.session.cascade_learnt import vectors_and_words

VECTORS = np.eye(4)[[0, 1, 2, 3]]


def test_rows_are_vectors_and_words_and_those_without_a_vector_are_not_known() -> None:
    vectors = VECTORS.copy()
    vectors[2] = np.nan
    rows = vectors_and_words(vectors, ["hops and malt", "hops", "hops", "malt and malt"], Event())
    assert rows.known.tolist() == [True, True, False, True]
    found = rows.numbers.toarray()
    assert found.shape == (4, 4 + 1), "one word is in three texts"
    assert np.allclose((found[[0, 1]] ** 2).sum(axis=1), 1)
    assert np.allclose(found[:, 4], np.sqrt([0.5, 0.5, 0.5, 0]))


def test_where_no_word_is_in_several_texts_the_vectors_are_all() -> None:
    for texts in (["a", "b", "c", "d"], ["", " ", "!", "?"], ["one", "two", "three", "four"]):
        rows = vectors_and_words(VECTORS, texts, Event())
        assert (rows.numbers == VECTORS).all()
        assert rows.known.all()


def test_an_interrupt_is_heeded_between_two_texts() -> None:
    cancel, read = Event(), list[str]()

    class Text(str):
        def lower(self) -> str:
            read.append(self)
            cancel.set()
            return super().lower()

    with pytest.raises(Cancelled):
        vectors_and_words(VECTORS, [Text(each) for each in "abcd"], cancel)
    assert read == ["a"]
