"""The shipped tables: odd on purpose, and the same bytes from the generator every time."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from relserve.examples import TABLES
from training.tiny.examples import write_all


def _rows(name: str) -> list[dict[str, str]]:
    with TABLES[name].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_regenerate_byte_identically(tmp_path: Path) -> None:
    write_all(tmp_path)
    for name, path in TABLES.items():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), name


def test_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in TABLES.values()) < 1_000_000
    assert len(_rows("reviews")) == 300


@pytest.mark.parametrize("name", ["reviews", "films", "beers"])
def test_some_reviews_are_null(name: str) -> None:
    assert any(not row["review"] for row in _rows(name))


def test_reviews_hold_odd_texts() -> None:
    texts = [row["review"] for row in _rows("reviews")]
    assert ',"",' in TABLES["reviews"].read_text(encoding="utf-8")  # the empty string beside NULLs
    assert Counter(texts).most_common(1)[0][1] > 1
    assert max(len(text.split()) for text in texts) > 500
    for part in ("👍", '"', "'", "\n", "非常好", "Отлично", "{", "&amp;"):
        assert any(part in text for text in texts), part


def test_reviews_belong_to_products() -> None:
    products = {row["id"] for row in _rows("products")}
    assert {row["product_id"] for row in _rows("reviews")} <= products
