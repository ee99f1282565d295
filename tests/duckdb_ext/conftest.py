"""Fixtures: a connection with the llm functions over a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo


@pytest.fixture
def made() -> Iterator[Made]:
    """A connection whose engine answers with the prompt itself."""
    made = make(script=echo)
    yield made
    made.con.close()
