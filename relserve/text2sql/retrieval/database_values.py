"""A database's own values, looked up by all of their words, by similar spelling, or by some words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from relserve.linking.values import ValueHit, ValueIndex
from relserve.text2sql.catalog.texts import ColumnTexts
from relserve.text2sql.retrieval import spelling
from relserve.text2sql.retrieval.value_table import ValueTable

FEW = 500  # values that are all compared; short ones share few n-grams when a letter differs
NUM_COMPARED = 60  # candidates of similar spelling whose likeness is computed
NUM_BY_WORDS = 20  # further ones that share a rare word
MOST_CHARS = 200  # of a text that is compared
TABLE_FILE, SPELLING_FILE = "values.sqlite3", "spelling.npy"


class DatabaseValues(ValueIndex):
    """An index of values, in memory or in a folder; for several threads.

    Args:
        table: a filled one.
        spellings: what `spelling.band_tables` makes of the same values.
    """

    def __init__(self, table: ValueTable, spellings: spelling.Array) -> None:
        self._table, self._spellings = table, spellings

    @classmethod
    def build(
        cls,
        columns: Iterable[ColumnTexts],
        folder: Path | None = None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> DatabaseValues:
        """An index of these values.

        Args:
            folder: for it, there and empty; None: in memory.
            goes_on: asked now and then; where it says no, the values that are left are found by their words
                alone.
        """
        table = ValueTable(folder / TABLE_FILE if folder else None)
        plain = [spelling.plain(value) for value in table.build(columns)]
        spellings = spelling.band_tables(spelling.band_keys(plain, goes_on))
        if folder:
            np.save(folder / SPELLING_FILE, spellings)
        return cls(table, spellings)

    @classmethod
    def open(cls, folder: Path) -> DatabaseValues:
        """The index that a folder holds.

        Raises:
            OSError, ValueError, sqlite3.Error: it is not there, broken, or of another version.
        """
        spellings = np.load(folder / SPELLING_FILE, mmap_mode="r", allow_pickle=False)
        if spellings.dtype != np.uint32 or spellings.shape[:2] != (spelling.NUM_BANDS, 2):
            raise ValueError(f"{SPELLING_FILE} holds something else")
        if not (folder / TABLE_FILE).exists():
            raise FileNotFoundError(TABLE_FILE)
        table = ValueTable(folder / TABLE_FILE)
        table.check()
        return cls(table, spellings)

    def close(self) -> None:
        """Close the index; it is not to be used afterwards."""
        self._table.close()

    def find(self, words: tuple[str, ...]) -> Sequence[ValueHit]:
        """The values whose `words.folded` is exactly `words`."""
        return self._table.find(words)

    def similar(self, text: str, k: int) -> list[tuple[ValueHit, float]]:
        """The k values most like a text, the best first, each with its likeness from 0 to 1.

        Candidates are of similar spelling, or share a rare word with the text.
        """
        plain = spelling.plain(text[:MOST_CHARS])
        if not plain:
            return []
        hits = self._table.values(self._candidates(plain))
        asked = spelling.grams(plain)
        scored = [(hit, spelling.likeness(asked, spelling.grams(spelling.plain(hit.value)))) for hit in hits]
        return sorted((pair for pair in scored if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:k]

    def _candidates(self, plain: str) -> list[int]:
        if (num_values := self._spellings.shape[2]) <= FEW:
            return list(range(num_values))
        spelt_so = spelling.candidates(self._spellings, plain)[:NUM_COMPARED]
        return sorted({*map(int, spelt_so), *self._table.by_words(plain, NUM_BY_WORDS)})
