"""The statements of `server_load`, each with its rows as an engine in this process gives them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from benchmarks.beer import classify_call
from benchmarks.server_clients import BIG, ClientStatement
from relserve.api import Connection

SELECT_1, LOOK_UP, PAGE, GROUP, RATE, FILTER = (
    "SELECT 1",
    "look up",
    "page",
    "group",
    "5 llm rows",
    "llm filter",
)
SCORE_CALL = "llm_score('Rate the beer from 1 to 5: {review}', review)"
FILTER_CALL = "llm_filter('Would you drink this beer again? {review}', review)"
LAST = 200  # reviews that small llm queries ask about: the last of the table, which big ones leave out
NUMBER = 100  # statements of each kind


def questions_of(con: Connection, big_rows: int) -> dict[str, list[ClientStatement]]:
    """Statements of each kind on table `beer`, with the rows that they must give.

    Args:
        big_rows: of each statement that the background client asks.
    """
    chance = random.Random(15)
    num_rows = _rows(con, "SELECT count(*) FROM beer")[0][0]

    def ids(count: int) -> list[list[int]]:
        return [sorted(chance.sample(range(1, num_rows - 100), count)) for _ in range(NUMBER)]

    return {
        SELECT_1: [ClientStatement("SELECT 1", [[1]])],
        LOOK_UP: [
            _asked(con, "SELECT id, name, style, review FROM beer WHERE id = $1", *at) for at in ids(1)
        ],
        PAGE: [
            _asked(con, "SELECT id, name FROM beer WHERE id >= $1 ORDER BY id LIMIT 100", *at)
            for at in ids(1)
        ],
        GROUP: [_asked(con, GROUPED, *between) for between in ids(2)],
        **_small(con, num_rows, chance),
        BIG: _big(con, num_rows - LAST, big_rows),
    }


GROUPED = (
    "SELECT style, count(*) AS beers, max(length(review)) AS longest FROM beer WHERE id BETWEEN $1 AND $2 "
    "GROUP BY style ORDER BY style NULLS LAST"
)


def _asked(con: Connection, sql: str, *arguments: Any) -> ClientStatement:
    return ClientStatement(sql, _rows(con, sql, arguments), list(arguments))


def _small(con: Connection, num_rows: int, chance: random.Random) -> dict[str, list[ClientStatement]]:
    """Llm functions on a few of the last rows, whose answers are asked here but once."""
    last = range(num_rows - LAST + 1, num_rows + 1)
    asked = f"SELECT id, {SCORE_CALL}, {FILTER_CALL} FROM beer WHERE id >= {last[0]}"
    known = {row: (score, keeps) for row, score, keeps in _rows(con, asked)}
    rated, filtered = [], []
    for _ in range(NUMBER):
        some = sorted(chance.sample(last, 5))
        text = f"SELECT id, {SCORE_CALL} AS score FROM beer WHERE id IN ({_list(some)}) ORDER BY id"
        rated.append(ClientStatement(text, [[row, known[row][0]] for row in some]))
        some = sorted(chance.sample(last, 10))
        text = f"SELECT id FROM beer WHERE id IN ({_list(some)}) AND {FILTER_CALL} ORDER BY id"
        filtered.append(ClientStatement(text, [[row] for row in some if known[row][1]]))
    return {RATE: rated, FILTER: filtered}


def _big(con: Connection, most: int, num_rows: int) -> list[ClientStatement]:
    """The first rows and the last, so that the prefix cache is not full of the very same rows."""
    asked = f"SELECT id, {classify_call()} AS mood FROM beer"
    texts = [
        f"{asked} WHERE id > {first} AND id <= {first + num_rows} ORDER BY id"
        for first in (0, most - num_rows)
    ]
    return [ClientStatement(text, _rows(con, text)) for text in texts]


def _rows(con: Connection, sql: str, arguments: Sequence[Any] = ()) -> list[list[Any]]:
    return [list(row) for row in con.execute(sql, list(arguments)).fetchall()]


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
