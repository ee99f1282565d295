"""Fixtures: a connection with the llm functions over a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scripted_filters import answer
from sql_fixtures import Made, make

from relserve.engines.scripted import echo


@pytest.fixture
def made() -> Iterator[Made]:
    """A connection whose engine answers with the prompt itself."""
    made = make(script=echo)
    yield made
    made.con.close()


@pytest.fixture(scope="module")
def refusing() -> Iterator[Made]:
    """As `made`, one for all texts of a file that are refused before anything is asked."""
    made = make(script=echo)
    yield made
    made.con.close()


@pytest.fixture(scope="session")
def twins() -> Iterator[tuple[Made, Made]]:
    """Connections with and without prefetch whose filters' answers are known."""
    both = tuple(make(prefetch, tables=False, script=answer) for prefetch in (True, False))
    yield both  # type: ignore[misc]
    for each in both:
        each.con.close()
