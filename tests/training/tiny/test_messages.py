"""The shipped messages of customers: odd on purpose, true labels, the same bytes from the generator."""

import csv
import re
from pathlib import Path

import duckdb
import pytest

from relserve.examples import MESSAGES
from training.tiny.examples import write_table
from training.tiny.messages import HEADER, message_rows

LARGEST = 60_000  # bytes


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with MESSAGES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_is_made_again_byte_identically(tmp_path: Path) -> None:
    write_table(tmp_path / "messages.csv", HEADER, message_rows())
    assert (tmp_path / "messages.csv").read_bytes() == MESSAGES.read_bytes()
    assert MESSAGES.stat().st_size < LARGEST


def test_the_messages_are_odd(rows: list[dict[str, str]]) -> None:
    texts = [row["message"] for row in rows]
    assert len(texts) == 400 > len(set(texts))
    assert {"en", "de", "fr", "es", "it", "nl", "pt", "ja"} < {row["language"] for row in rows}
    for part in ('"', "\n", "é", "¡", "届"):
        assert any(part in text for text in texts), part
    assert ',"",' in MESSAGES.read_text(encoding="utf-8")  # the empty string beside NULLs


def test_the_labels_are_those_of_the_texts(rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert re.findall("[KMRT][XZ]-[0-9]{5}", row["message"]) == [row["order_number"]] * bool(
            row["order_number"]
        )
        assert bool(row["complaint"]) == bool(row["message"])  # no text, no truth
    complaints = [row["complaint"] for row in rows]
    assert 130 < complaints.count("true") < complaints.count("false")


def test_duckdb_reads_the_file_in_place() -> None:
    types = duckdb.sql(f"SELECT column_type FROM (DESCRIBE FROM '{MESSAGES}')").fetchall()
    assert [kind for (kind,) in types] == [
        "BIGINT",
        "DATE",
        "VARCHAR",
        "VARCHAR",
        "BOOLEAN",
        "VARCHAR",
        "VARCHAR",
    ]
