"""The same tables for every server: products and their reviews, with keys, an index, comments and a view.

The rows are Amazon's of the shared data, and without those the shipped examples. Neither says when a review
was written, so its time is computed from its number; that day is no fact about the review.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import duckdb

from benchmarks.provenance import ROOT
from relserve.examples import TABLES

NAMES = ("products", "reviews")
SCHEMA = "main"
# The same text for PostgreSQL and DuckDB.
DEFINITIONS = """
CREATE TABLE products (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, brand TEXT DEFAULT 'none', category TEXT,
    price DECIMAL(10, 2), listed_on DATE NOT NULL);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products (id),
    written_at TIMESTAMP NOT NULL, stars DOUBLE PRECISION, verified BOOLEAN, review TEXT);
CREATE INDEX reviews_of_a_product ON reviews (product_id, written_at);
CREATE VIEW rated AS
    SELECT p.brand, p.category, r.written_at, r.stars, r.review
    FROM reviews r JOIN products p ON p.id = r.product_id;
COMMENT ON TABLE products IS 'What is sold';
COMMENT ON TABLE reviews IS 'What buyers wrote; the times are computed from the numbers';
COMMENT ON COLUMN reviews.stars IS 'from 1 to 5, ''none'' given: NULL';
COMMENT ON VIEW rated IS 'Reviews beside their products';
"""
FROM_AMAZON = """
CREATE TEMP TABLE rows AS SELECT row_number() OVER () AS id, * FROM read_csv('{amazon}', all_varchar := true);
CREATE TEMP VIEW given_products AS
    SELECT row_number() OVER (ORDER BY min(id)) AS id, product_id AS code, any_value(product_name) AS name,
        split_part(name, ' ', 1) AS brand, split_part(any_value(category), '|', 1) AS category,
        try_cast(replace(ltrim(any_value(discounted_price), '₹'), ',', '') AS DECIMAL(10, 2)) AS price
    FROM rows GROUP BY product_id;
CREATE TEMP VIEW given_reviews AS
    SELECT r.id, p.id AS product_id, try_cast(r.rating AS DOUBLE) AS stars, r.review_content AS review
    FROM rows r JOIN given_products p ON p.code = r.product_id;
"""
FROM_EXAMPLES = """
CREATE TEMP VIEW given_products AS FROM read_csv('{products}');
CREATE TEMP VIEW given_reviews AS FROM read_csv('{reviews}') WHERE product_id IS NOT NULL;
"""
FILLING = """
INSERT INTO products SELECT id, name, brand, category, price, DATE '2024-06-01' + (id * 3 % 200)::INTEGER
    FROM given_products ORDER BY id;
INSERT INTO reviews
    SELECT id, product_id, TIMESTAMP '2025-01-01' + id * INTERVAL '197 minutes', stars, id % 3 = 0, review
    FROM given_reviews ORDER BY id;
"""


def rows_of() -> tuple[str, Mapping[str, Path]]:
    """The SQL that reads the rows, and the files that it reads."""
    shared = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data")) / "tables" / "amazon.csv"
    return (FROM_AMAZON, {"amazon": shared}) if shared.is_file() else (FROM_EXAMPLES, TABLES)


def into_duckdb(file: Path) -> int:
    """Make the tables in a new DuckDB file.

    Returns:
        How many reviews there are.
    """
    reading, files = rows_of()
    with duckdb.connect(file) as con:
        con.execute(DEFINITIONS)
        con.execute(reading.format_map(files))
        con.execute(FILLING)
        (count,) = con.execute("SELECT count(*) FROM reviews").fetchall()[0]
    return int(count)


def into_postgres(file: Path, psql: list[str]) -> None:
    """Make the tables of a DuckDB file in the PostgreSQL database that a psql command line leads to."""
    copies = []
    with duckdb.connect(file, read_only=True) as con:
        for name in NAMES:
            rows = file.with_name(f"{name}.csv")
            con.execute(f"COPY {name} TO '{rows}' (HEADER, NULLSTR '\\N')")
            copies.append(f"\\copy {name} from '{rows}' (format csv, header, null '\\N')")
    text = "\n".join([f"CREATE SCHEMA {SCHEMA};", DEFINITIONS, *copies, "ANALYZE;"])
    subprocess.run([*psql, "-X", "-v", "ON_ERROR_STOP=1", "-q", "-f", "-"], input=text, text=True, check=True)
