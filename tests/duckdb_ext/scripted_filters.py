"""Filters whose answers the tests know: the prompt says what share of rows passes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from sql_fixtures import Made, make

from relserve.call.relquery import Submission
from relserve.engines.scripted import Script
from relserve.errors import Failure, FailureKind


def passes(text: str) -> bool:
    """Whether the engine says yes to `LETTER SHARE value`, SHARE in percent."""
    share = int(text.split()[1])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") % 100 < share


def answer(prompt: str, submission: Submission) -> str | Failure:
    """Yes or no by the share; of other choices the first for yes, the last for no; else the text."""
    text = prompt.splitlines()[-1]
    if "fails" in text:
        return Failure(FailureKind.ENGINE, "as it was told to")
    grammar = submission.sampling.grammar
    if grammar is None or not grammar.choices:
        return text
    return grammar.choices[0 if passes(text) else -1]


def made_of(num_rows: int, script: Script = answer, prefetch: bool = True, **engine: Any) -> Made:
    """A table t of so many rows with distinct texts."""
    made = make(prefetch, tables=False, script=script, **engine)
    made.con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'x' || i AS x, 'y' || i AS y, i % 10 AS g FROM range($1) r(i)",
        [num_rows],
    )
    return made


def passing(num_rows: int, *filters: str) -> list[int]:
    """Ids of t for which all filters, such as `a 10 x`, say yes: letter, share, column."""
    return [i for i in range(num_rows) if all(passes(f"{each}{i}") for each in filters)]


def once(effect: Callable[[], Any], after: int = 1) -> Script:
    """Answers as `answer`, and has an effect when so many prompts have been answered."""
    count = 0

    def script(prompt: str, submission: Submission) -> str | Failure:
        nonlocal count
        count += 1
        if count == after:
            effect()
        return answer(prompt, submission)

    return script


def fill(twins: tuple[Made, Made], cells: list[tuple[str | None, str | None]], times: int = 1) -> None:
    """A table t of columns id, a, b on both connections: the cells, so many times over."""
    for made in twins:
        made.con.execute(
            "CREATE OR REPLACE TABLE t AS "
            "SELECT k + 100 * i AS id, l[1] || repeat(' ', i::INT) AS a, l[2] AS b "
            "FROM (SELECT unnest(range(len($1))) AS k, unnest($1::VARCHAR[][]) AS l), range($2) r(i)",
            [[list(row) for row in cells], times],
        )
