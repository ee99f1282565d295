"""Files of rows as DuckDB reads them."""

from __future__ import annotations

KNOWN = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")  # by their names


def scan_of(path: str) -> str:
    """What stands after FROM for a file, or a URL: it is read as CSV where its name does not tell."""
    file = "'" + path.replace("'", "''") + "'"
    stem = path.lower().removesuffix(".gz").removesuffix(".zst")
    return file if stem.endswith(KNOWN) else f"read_csv({file})"
