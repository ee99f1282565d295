"""Files of rows as DuckDB reads them."""

from __future__ import annotations

from relserve.linking.schema import literal

KNOWN = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")  # by their names


def scan_of(path: str) -> str:
    """What stands after FROM for a file, or a URL: it is read as CSV where its name does not tell."""
    file = literal(path)
    return file if names_a_file(path) else f"read_csv({file})"


def names_a_file(text: str) -> bool:
    """Whether a text ends as files do that DuckDB reads by their names, a pattern of names or a URL too."""
    return text.lower().removesuffix(".gz").removesuffix(".zst").endswith(KNOWN)
