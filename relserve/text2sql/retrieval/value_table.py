"""The SQLite database of an index: values, where they stand, and their words for BM25."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from relserve.linking.values import ValueHit
from relserve.linking.words import folded, tokens
from relserve.text2sql.catalog.texts import ColumnTexts

FORMAT = 1
APPLICATION_ID = 0x72656C56  # "relV" in the file's header: the database is ours
SCORED_VALUES = 3_000  # that BM25 goes through; of a question's words the rarest ones
_JOINT = "\x1f"  # between the words of a key
_TABLES = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE columns (id INTEGER PRIMARY KEY, "table" TEXT NOT NULL, "column" TEXT NOT NULL);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, "column" INTEGER NOT NULL, words TEXT NOT NULL, value TEXT NOT NULL
);
CREATE VIRTUAL TABLE by_word USING fts5 (value, content = '', tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE word_counts USING fts5vocab (by_word, row);
"""
_END = """
CREATE INDEX texts_by_words ON texts (words);
CREATE TABLE words AS SELECT term, doc FROM word_counts;
CREATE UNIQUE INDEX words_by_term ON words (term);
"""
_HITS = (
    'SELECT "table", columns."column", value FROM texts JOIN columns ON columns.id = texts."column" WHERE '
)


class ValueTable:
    """Values by number, in the order in which they were added, by all of their words, and by some of them.

    Args:
        path: of a file that `build` has made; None for a database in memory.

    Raises (as its methods do):
        sqlite3.Error: the file is broken, or none of ours.
    """

    def __init__(self, path: Path | None) -> None:
        name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode=rwc"
        self._db = sqlite3.connect(name, isolation_level=None, check_same_thread=False, uri=True)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def build(self, columns: Iterable[ColumnTexts]) -> Iterator[str]:
        """Fill the empty database; the values come out as they are stored, numbered from 0."""
        self._db.executescript(_TABLES)
        self._db.execute("BEGIN")
        number = 0
        for at, each in enumerate(columns):
            self._db.execute("INSERT INTO columns VALUES (?, ?, ?)", (at, each.table, each.column))
            rows = [(number + by, at, _key(folded(value)), value) for by, value in enumerate(each.values)]
            self._db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", rows)
            words = ((number, value) for number, _, _, value in rows)
            self._db.executemany("INSERT INTO by_word (rowid, value) VALUES (?, ?)", words)
            number += len(rows)
            yield from each.values
        self._db.execute("COMMIT")
        self._db.executescript(_END)

    def check(self) -> None:
        """See that it is ours and whole.

        Raises:
            sqlite3.DatabaseError: it is not.
        """
        found = [
            self._db.execute(f"PRAGMA {each}").fetchone()[0] for each in ("application_id", "user_version")
        ]
        if found != [APPLICATION_ID, FORMAT]:
            raise sqlite3.DatabaseError(f"of another format: {found}")
        self._db.execute("SELECT count(*) FROM words").fetchone()

    def find(self, words: tuple[str, ...]) -> list[ValueHit]:
        """The values of exactly these folded words."""
        with self._lock:
            rows = self._db.execute(_HITS + "words = ? ORDER BY texts.id", (_key(words),)).fetchall()
        return [ValueHit(*row) for row in rows]

    def values(self, numbers: Sequence[int]) -> list[ValueHit]:
        """The values of these numbers."""
        listed = ", ".join(str(int(number)) for number in numbers)
        with self._lock:
            rows = self._db.execute(f"{_HITS} texts.id IN ({listed}) ORDER BY texts.id").fetchall()
        return [ValueHit(*row) for row in rows]

    def by_words(self, text: str, k: int) -> list[int]:
        """The numbers of the k values that share a text's rarest words, best first by BM25."""
        with self._lock:
            if not (rarest := self._rarest(text)):
                return []
            asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in rarest)
            found = self._db.execute(
                "SELECT rowid FROM by_word WHERE by_word MATCH ? ORDER BY rank LIMIT ?", (asked, k)
            ).fetchall()
        return [number for (number,) in found]

    def _rarest(self, text: str) -> list[str]:
        """The rarest words of a text that not too many values hold, together."""
        words = list({word.casefold() for word in tokens(text) if word.isalnum()})
        marks = ", ".join("?" * len(words))
        counts = self._db.execute(
            f"SELECT term, doc FROM words WHERE term IN ({marks}) ORDER BY doc, term", words
        )
        rarest, total = [], 0
        for word, count in counts:
            total += count
            if total > SCORED_VALUES:
                break
            rarest.append(word)
        return rarest


def _key(words: Iterable[str]) -> str:
    return _JOINT.join(words).encode("utf-8", "replace").decode()  # a lone surrogate is no text of SQLite
