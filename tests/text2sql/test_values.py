"""Indexes of a database's values: what they find, and how they are kept."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pytest

from relserve.errors import Cancelled
from relserve.linking.values import ValueHit
from relserve.linking.words import folded
from relserve.text2sql.catalog import texts, versions
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.catalog.texts import ColumnTexts, distinct_texts
from relserve.text2sql.retrieval import library, spelling, value_table
from relserve.text2sql.retrieval.database_values import SPELLING_FILE, TABLE_FILE, DatabaseValues
from relserve.text2sql.retrieval.library import ValueLibrary

BREWERIES = [
    "Plzeňský Prazdroj",
    "Brauerei Ayinger",
    "Orval",
    "Brasserie d'Achouffe",
    "Sierra Nevada",
    "日本",
]
STYLES = ["Lager", "IPA", "India Pale Ale", "orval"]


@pytest.fixture
def values() -> DatabaseValues:
    columns = [ColumnTexts("breweries", "name", BREWERIES), ColumnTexts("beers", "style", STYLES)]
    return DatabaseValues.build(columns)


def _best(values: DatabaseValues, text: str) -> str:
    return values.similar(text, 1)[0][0].value


def test_exact_values_are_found_whatever_their_case(values: DatabaseValues) -> None:
    assert values.find(folded("INDIA pale ale")) == [ValueHit("beers", "style", "India Pale Ale")]
    assert values.find(folded("Orval")) == [
        ValueHit("breweries", "name", "Orval"),
        ValueHit("beers", "style", "orval"),
    ]
    assert values.find(folded("brasserie d'achouffe")) != []
    assert values.find(("india",)) == []
    assert values.find(()) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Plzensky Prazdroi", "Plzeňský Prazdroj"), ("Ayingr", "Brauerei Ayinger"),
        ("siera nevadda", "Sierra Nevada"),
        ("ayinger", "Brauerei Ayinger"), ("Laegr", "Lager"), ("日本", "日本"), ("pale", "India Pale Ale"),
    ],
)  # fmt: skip
def test_similar_values_are_found_by_spelling_and_by_words(
    values: DatabaseValues, text: str, value: str
) -> None:
    assert _best(values, text) == value


def test_likeness_runs_from_one_down_and_k_bounds_what_comes(values: DatabaseValues) -> None:
    found = values.similar("Orval", 3)
    assert [(hit.value, score) for hit, score in found[:2]] == [("orval", 1.0), ("Orval", 1.0)]
    assert all(0 < score <= 1 for _, score in found)
    assert len(values.similar("lager", 1)) == 1
    assert values.similar("  ", 3) == values.similar("zzzzzz", 3) == []


@pytest.mark.parametrize(
    "text", ['"', 'a"b OR value:*', "'; DROP TABLE texts; --", "NEAR(", "\ud800", "%", "\x00"]
)
def test_any_text_may_be_asked_for(values: DatabaseValues, text: str) -> None:
    values.similar(text, 3)
    values.find(folded(text))
    assert _best(values, "Laegr") == "Lager"


def test_an_index_of_nothing_finds_nothing() -> None:
    empty = DatabaseValues.build([])
    assert empty.find(("x",)) == empty.similar("x", 3) == []


def _edited(value: str, chance: random.Random) -> str:
    at = chance.randrange(len(value) - 1)
    return chance.choice(
        [value[:at] + value[at + 1] + value[at] + value[at + 2 :], value[:at] + value[at + 1 :]]
    )


def test_one_edit_away_is_found_among_many() -> None:
    chance = random.Random(3)
    syllables = [a + b + c for a in "bcdfglmnprst" for b in "aeiou" for c in "lmnrst"]
    words = sorted({"".join(chance.choices(syllables, k=4)).title() for _ in range(20_000)})
    values = DatabaseValues.build([ColumnTexts("t", "c", words)])
    asked = chance.sample(words, 200)
    found = sum(text in [hit.value for hit, _ in values.similar(_edited(text, chance), 5)] for text in asked)
    assert found >= 190


def test_texts_of_one_pattern_stay_cheap() -> None:
    numbers = np.arange(3 * spelling.MAX_BUCKET)
    values = DatabaseValues.build(
        [ColumnTexts("t", "c", [f"Customer number {n:09d} of this company" for n in numbers])]
    )
    assert _best(values, "Customer number 000000007 of this company").startswith("Customer number")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "beers.duckdb")) as con:
        con.execute("CREATE TABLE beers (name VARCHAR, style VARCHAR, abv DOUBLE)")
        con.execute("INSERT INTO beers VALUES ('Jahrhundert', 'Lager', 5.5), ('Celebrator', 'Bock', 6.7)")
        con.execute("CHECKPOINT")
        yield con


def _built(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the library reads anew, call by call."""
    read: list[object] = []

    def counted(*args: object) -> Iterator[ColumnTexts]:
        read.append(args)
        return distinct_texts(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(library, "distinct_texts", counted)
    return read


def _folders(place: Path) -> list[Path]:
    return sorted(place.iterdir())


def test_an_index_is_built_once_a_version(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    place, schema = tmp_path / "values", read_schema(con)
    first = ValueLibrary(place)
    values = first.values(con, schema)
    assert first.values(con, schema) is values
    (folder,) = _folders(place)
    made = (folder / TABLE_FILE).stat().st_mtime_ns
    assert ValueLibrary(place).values(con, schema).find(("bock",)) == [ValueHit("beers", "style", "Bock")]
    assert (folder / TABLE_FILE).stat().st_mtime_ns == made
    con.execute("INSERT INTO beers VALUES ('Orval', 'Trappist', 6.2)")
    assert first.values(con, schema).find(("orval",)) == [ValueHit("beers", "name", "Orval")]
    assert len(_folders(place)) == 2
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", [TABLE_FILE, SPELLING_FILE])
@pytest.mark.parametrize("content", [b"", b"not ours", b"SQLite format 3\x00" + b"\x00" * 200])
def test_a_broken_file_is_built_anew(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, content: bytes
) -> None:
    place, schema = tmp_path / "values", read_schema(con)
    ValueLibrary(place).values(con, schema)
    (folder,) = _folders(place)
    (folder / name).write_bytes(content)
    values = ValueLibrary(place).values(con, schema)
    assert values.find(("bock",)) == [ValueHit("beers", "style", "Bock")]
    assert _best(values, "Celebratr") == "Celebrator"


def test_a_database_of_sqlite_that_is_not_ours_is_not_used(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    place, schema = tmp_path / "values", read_schema(con)
    ValueLibrary(place).values(con, schema)
    (folder,) = _folders(place)
    (folder / TABLE_FILE).unlink()
    other = sqlite3.connect(folder / TABLE_FILE)
    other.execute("CREATE TABLE texts (id INTEGER)")
    other.close()
    assert ValueLibrary(place).values(con, schema).find(("bock",)) != []


def test_what_lies_in_memory_is_not_written_to_disk(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute("CREATE TEMP TABLE secrets AS SELECT 'hunter2' AS word")
    values = ValueLibrary(tmp_path / "values").values(con, read_schema(con))
    assert values.find(("hunter2",)) == [ValueHit("secrets", "word", "hunter2")]
    assert not (tmp_path / "values").exists()


def test_an_encrypted_database_is_not_written_to_disk_in_clear(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(
            "SET force_mbedtls_unsafe = true"
        )  # else only with an extension that has better random numbers
        con.execute(f"ATTACH '{tmp_path / 'locked.duckdb'}' AS locked (ENCRYPTION_KEY 'key')")
        con.execute("CREATE TABLE locked.main.words AS SELECT 'hunter2' AS word")
        values = ValueLibrary(tmp_path / "values").values(con, read_schema(con, schema="locked"))
        assert values.find(("hunter2",)) == [ValueHit("words", "word", "hunter2")]
    assert not (tmp_path / "values").exists()


def test_old_indexes_and_leftovers_are_removed(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, schema = tmp_path / "values", read_schema(con)
    monkeypatch.setattr(library, "MAX_BYTES", 1)
    ValueLibrary(place).values(con, schema)
    left = place / "abc.def.tmp"
    left.mkdir()
    os.utime(left, (0, 0))
    fresh = place / "abc.ghi.tmp"  # another process is at it
    fresh.mkdir()
    con.execute("INSERT INTO beers VALUES ('Orval', 'Trappist', 6.2)")
    ValueLibrary(place).values(con, schema)
    assert fresh in _folders(place)
    assert len(_folders(place)) == 2


def test_where_the_disk_fails_the_index_is_in_memory(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "values").write_text("a file, no folder")
    assert ValueLibrary(tmp_path / "values").values(con, read_schema(con)).find(("bock",)) != []


def test_few_indexes_stay_open(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "NUM_IN_MEMORY", 1)
    read, shelf = _built(monkeypatch), ValueLibrary(tmp_path / "values")
    con.execute("CREATE TEMP TABLE words AS SELECT 'x' AS word")
    both, one = read_schema(con), read_schema(con, tables=["beers"])
    for schema in (both, both, one, one, both):
        shelf.values(con, schema)
    assert len(read) == 3


def test_many_values_are_shared_out_among_columns(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE big AS SELECT 'v' || i AS a, 'w' || i AS b FROM range(1000) t(i)")
    read = list(distinct_texts(con, read_schema(con), 100, 10.0))
    assert [(each.table, each.column, len(each.values)) for each in read] == [
        ("beers", "name", 2), ("beers", "style", 2), ("big", "a", 48), ("big", "b", 48),
    ]  # fmt: skip


@pytest.mark.performance
def test_a_value_among_many_is_found_soon(limit_s: Callable[..., float]) -> None:
    values = DatabaseValues.build(
        [ColumnTexts("t", "c", [f"{n * 7919 % 1_000_003:x} street" for n in range(100_000)])]
    )
    began = time.perf_counter()
    for _ in range(20):
        values.find(("1f2b", "street"))
        values.similar("1f2 streeet", 5)
    assert time.perf_counter() - began < limit_s(0.4)


def test_common_words_are_left_out_of_the_search() -> None:
    table = value_table.ValueTable(None)
    list(table.build([ColumnTexts("t", "c", [f"street {n}" for n in range(value_table.SCORED_VALUES + 1)])]))
    assert table.by_words("street", 5) == []
    assert table.by_words("street 17", 5) == [17]


def test_a_build_keeps_nobody_else_waiting_and_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, cancel, is_reading = ValueLibrary(tmp_path / "values"), threading.Event(), threading.Event()
    reading = library.distinct_texts

    def slow(con: duckdb.DuckDBPyConnection, *args: object) -> Iterator[ColumnTexts]:
        if con is big:
            is_reading.set()
            assert cancel.wait(30)
        yield from reading(con, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(library, "distinct_texts", slow)
    with duckdb.connect() as big, duckdb.connect() as small, ThreadPoolExecutor(1) as pool:
        big.execute("CREATE TABLE t AS SELECT 'v' || i AS a FROM range(1000) t(i)")
        small.execute("CREATE TABLE t AS SELECT 'x' AS a")
        first = pool.submit(shelf.values, big, read_schema(big), cancel)
        try:
            assert is_reading.wait(30)
            assert shelf.values(small, read_schema(small)).find(("x",)) != []
        finally:
            cancel.set()
        with pytest.raises(Cancelled):
            first.result(30)
        assert shelf.values(big, read_schema(big)).find(("v7",)) != []  # a cancelled build is no index


def test_a_build_ends_in_time_and_keeps_what_it_has(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = read_schema(con)
    monkeypatch.setattr(library, "READING_S", 0.0)
    assert ValueLibrary(tmp_path / "none").values(con, schema).find(("bock",)) == []
    columns = [ColumnTexts("t", "c", [f"street {n}" for n in range(3 * spelling.CHUNK)])]
    asked: list[bool] = []
    cut = DatabaseValues.build(columns, goes_on=lambda: asked.append(True) or len(asked) < 2)  # type: ignore
    assert cut.find(("street", "700")) != []
    assert _best(cut, "stret 17") == "street 17"


def test_a_column_of_many_values_is_not_read_whole(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MOST_OF_COLUMN", 100)
    con.execute("CREATE TABLE big AS SELECT 'v' || i AS a, 'w' || (i // 500) AS b FROM range(30000) t(i)")
    read = {each.column: each.values for each in distinct_texts(con, read_schema(con, ["big"]), 1000, 10.0)}
    assert len(read["a"]) == 100
    assert max(int(value[1:]) for value in read["a"]) < 5000
    assert sorted(read["b"]) == sorted(f"w{n}" for n in range(60))


def test_only_what_is_asked_of_counts_in_a_version(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, shelf = _built(monkeypatch), ValueLibrary(tmp_path / "values")
    con.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS other; CREATE TABLE other.t (a INT)")
    con.execute("CREATE TABLE log (a INT)")
    schema = read_schema(con, tables=["beers"])
    shelf.values(con, schema)
    con.execute("INSERT INTO other.t VALUES (1)")
    con.execute("INSERT INTO log VALUES (1)")
    shelf.values(con, schema)
    assert len(read) == 1
    con.execute("UPDATE beers SET style = 'Stout' WHERE style = 'Bock'")
    assert shelf.values(con, schema).find(("stout",)) != []
    assert len(read) == 2


def test_what_changes_behind_the_first_rows_of_a_file_shows(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "HASHED_ROWS", 1)
    schema = read_schema(con, tables=["beers"])
    first = versions.database_version(con, schema)
    con.execute("UPDATE beers SET style = 'Stout' WHERE style = 'Bock'")
    assert versions.database_version(con, schema).key != first.key


@pytest.mark.parametrize("path", ["host=db password=hunter2", "https://example.org/a.duckdb", None, ""])
def test_what_is_no_path_is_no_file(path: str | None) -> None:
    assert not versions._is_file(path)
