"""The benchmark of DuckDB's own tests: what of a file it runs, and that it sees what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import relserve
from benchmarks.duckdb_tests.__main__ import OWN, VARIABLE, chosen, folder_of_tests
from benchmarks.duckdb_tests.child import FilesChild
from benchmarks.duckdb_tests.compare import MOVES, OIDS, compare, reason_of
from benchmarks.duckdb_tests.records import Record, Unknown, read_records
from benchmarks.duckdb_tests.sides import sorted_rows
from relserve.engines.scripted import ScriptedEngine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.test"


def test_a_record_has_its_line_client_and_sort() -> None:
    text = (
        "# c\nstatement ok con1\nCREATE TABLE t\n(a INT)\n\n"
        "query I rowsort\nFROM t\n----\n1\n\nquery I sort\nFROM u\n"
    )
    assert read_records(text) == [
        Record(3, "CREATE TABLE t\n(a INT)", client="con1"), Record(7, "FROM t", True, "rowsort"),
        Record(12, "FROM u", True, "rowsort"),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "sqls"), [
    ("loop i 0 2\n\nforeach j a b\n\nquery I\n${i}{j}\n\nendloop\n\nendloop", ["0a", "0b", "1a", "1b"]),
    ("foreach a,b 1,2 3,4\n\nquery I\n{a} ${b}\n\nendloop", ["1 2", "3 4"]),
    ("foreach t <signed> bool !tinyint\n\nquery I\n${t}\n\nendloop",
     ["smallint", "integer", "bigint", "hugeint", "bool"]),
    ("loop i 0 4\n\nskipif i>=2&&i<>3\nquery I\n${i}\n\nendloop", ["0", "1", "3"]),
    ("onlyif postgres\nquery I\na\n\nskipif duckdb\nquery I\nb\n\nonlyif duckdb\nquery I\nc\n", ["c"]),
    ("mode skip\n\nrestart\n\nmode unskip\n\nquery I\na\n\nhalt\n\nquery I\nb\n", ["a"]),
])  # fmt: skip
def test_which_statements_run(text: str, sqls: list[str]) -> None:
    assert [record.sql for record in read_records(text)] == sqls


@pytest.mark.parametrize(("text", "said"), [
    ("restart", "does not know: restart"), ("require tpch", "requires tpch"),
    ("require vector_size 4096", "another build"), ("statement count 3\nx\n", "statement count"),
    ("foreach c <compression>\n\nendloop", "<compression>"), ("loop i 0 1", "without its end"),
    ("statement ok\nCOPY t TO 'x.csv'\n", "extensions: copy"),
    ("statement ok\nFROM '{TEST_DIR}/x'\n", "{test_dir"),
    ("loop i 0 9999\n\nquery I\n1\n\nendloop", "more than 400 statements"),
])  # fmt: skip
def test_what_is_not_run_is_said(text: str, said: str) -> None:
    with pytest.raises(Unknown, match=said):
        read_records(text)


def test_rows_are_sorted_as_the_record_wants() -> None:
    rows = [(2, "b"), (1, "c")]
    assert sorted_rows(rows, "nosort") == ["(2, 'b')", "(1, 'c')"]
    assert sorted_rows(rows, "rowsort") == ["(1, 'c')", "(2, 'b')"]
    assert sorted_rows(rows, "valuesort") == ["'b'", "'c'", "1", "2"]


def test_our_own_records_are_as_in_plain_duckdb() -> None:
    found = compare(OWN / "own.test", "own.test")
    assert (found.skipped, found.differences) == ("", ())
    assert found.records > 50


def test_a_wrong_answer_and_a_lost_row_are_seen_at_their_line(path: Path) -> None:
    path.write_text("query I\nSELECT 1\n\nquery I\nSELECT 2 WHERE false\n")

    def wrong() -> Any:
        return relserve.connect(engine=ScriptedEngine(lambda prompt, _: "no"), cache=False)

    seen = compare(path, "a.test", wrong).differences
    assert [(each.line, each.form, each.ours, each.reason) for each in seen] == [
        (2, "wrapped in llm()", "(1, 'no')", ""), (2, "behind llm_filter()", "0 rows", ""),
    ]  # fmt: skip


@pytest.mark.long
def test_another_order_error_and_type_are_seen(path: Path) -> None:
    path.write_text(
        "query I\nSELECT a FROM (VALUES (1), (2)) t(a) ORDER BY a\n\n"
        "query I rowsort\nSELECT a FROM (VALUES (1), (2)) t(a) ORDER BY a\n\n"
        "statement error\nSELECT no_column\n\nquery I\nSELECT 1 / 2\n"
    )

    def other() -> Any:
        return duckdb.connect(config={"default_order": "DESC", "integer_division": True})

    found = compare(path, "a.test", other)
    assert [each.line for each in found.differences if each.form == "as written"] == [2, 11]


@pytest.mark.long
def test_what_moves_in_plain_duckdb_itself_is_no_difference(path: Path) -> None:
    path.write_text("query I\nSELECT random()\n")
    assert {each.reason for each in compare(path, "a.test").differences} == {MOVES}


@pytest.mark.long
def test_a_side_that_cannot_start_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("query I\nSELECT 1\n")
    monkeypatch.setenv(VARIABLE, "some/folder")
    monkeypatch.setenv("RELSERVE_NO_SUCH_SETTING", "1")
    child = FilesChild()
    [difference] = child.compare(path, "a.test").differences
    child.end()
    assert "RELSERVE_NO_SUCH_SETTING" in difference.ours


def test_each_folder_has_its_turn(tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "a/3", "b/1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.test").touch()
    order = [each.parent.name for each in chosen(tmp_path, seed=0)]
    assert order == ["a", "b", "a", "a"]


@pytest.mark.parametrize("given", [None, "empty"])
def test_without_a_folder_it_is_skipped_in_words(tmp_path: Path, capsys, given: str | None) -> None:
    with pytest.raises(SystemExit) as ended:
        folder_of_tests(tmp_path / given if given else None)
    assert not ended.value.code
    assert "skipped: no folder of sqllogictest files" in capsys.readouterr().err


@pytest.mark.parametrize(("theirs", "its", "reason"), [
    ("(22522, 'a', 1)", "(22827, 'a', 1)", OIDS), ("(22522, 'a', 1)", "(22827, 'b', 1)", ""),
    ("(1,)", "(2,)", ""), ("3 rows", "2 rows", ""),
])  # fmt: skip
def test_only_oids_may_be_others(theirs: str, its: str, reason: str) -> None:
    assert reason_of("FROM pg_type", theirs, its) == reason
