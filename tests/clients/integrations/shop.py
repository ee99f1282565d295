"""What the programs of this folder have in common; each runs in the environment of `make integrations`."""

from __future__ import annotations

import warnings
from typing import Any

import relserve

ASKS = "SELECT id, llm_filter('Is {name} good?', name) AS good FROM beers ORDER BY id"


def shop() -> Any:
    """A connection with a table, answered by the scripted engine."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    con = relserve.connect(model="scripted", progress=False)
    con.execute(
        "CREATE TABLE beers AS SELECT i AS id, 'beer ' || i AS name, i % 3 AS style FROM range(9) t(i)"
    )
    return con


def asked(con: Any) -> list[tuple[str, int]]:
    """Function and distinct prompts of each relQuery so far."""
    found: list[tuple[str, int]] = con.execute(
        "SELECT function, distinct_prompts FROM llm_queries()"
    ).fetchall()
    return found
