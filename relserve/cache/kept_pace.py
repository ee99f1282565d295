"""How long the latest relQueries of each model took, in a SQLite file beside the answers.

From it EXPLAIN tells times in other processes. It holds names of models and functions, numbers, and no texts.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from relserve.cache.small_file import SmallFile, WrittenBehind

FILE_NAME = "pace.sqlite3"
MOST_A_MODEL = 40  # relQueries of one model that are kept, the latest
WAIT_S = 1.0  # for other processes' locks

_TABLE = """
DROP TABLE IF EXISTS paces;
CREATE TABLE paces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, function TEXT NOT NULL,
    prompts INTEGER NOT NULL, tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, seconds REAL NOT NULL
)
"""
_OLD = """
DELETE FROM paces WHERE model = :model
AND id NOT IN (SELECT id FROM paces WHERE model = :model ORDER BY id DESC LIMIT :most)
"""
_READ = "SELECT function, prompts, tokens, output_tokens, seconds FROM paces WHERE model = ? ORDER BY id DESC"


class KeptPace(NamedTuple):
    """What one relQuery took.

    Attributes:
        prompts: that were asked.
        tokens: that the engine computed: of prompts, without those that a cache served, and of answers.
        output_tokens: of the answers alone.
        seconds: without the start of an engine where its clock tells.
    """

    function: str
    prompts: int
    tokens: int
    output_tokens: int
    seconds: float


class PaceFile(WrittenBehind[list[tuple[str, KeptPace]]]):
    """Keeps and finds; without the file EXPLAIN tells times by what this process asked, and is no worse."""

    what = "what relQueries took"

    def __init__(self, folder: Path) -> None:
        # a power cut may cost the file: it is only an estimate's
        super().__init__(SmallFile(folder / FILE_NAME, _TABLE, WAIT_S, synchronous="OFF"), list)

    def add(self, model: str, pace: KeptPace) -> None:
        """Keep what a relQuery took."""
        self._add([(model, pace)])

    def find(self, model: str) -> list[KeptPace]:
        """What is kept of a model, the latest first."""
        return [KeptPace(*row) for row in self._read(_READ, (model,))[0]]

    def _with(
        self, pending: list[tuple[str, KeptPace]], later: list[tuple[str, KeptPace]]
    ) -> list[tuple[str, KeptPace]]:
        return [*pending, *later][-MOST_A_MODEL:]

    def _write(self, db: sqlite3.Connection, pending: list[tuple[str, KeptPace]]) -> None:
        insert = "INSERT INTO paces VALUES (NULL, ?, ?, ?, ?, ?, ?)"
        db.executemany(insert, [(model, *pace) for model, pace in pending])
        for model in {model for model, _ in pending}:
            db.execute(_OLD, {"model": model, "most": MOST_A_MODEL})
