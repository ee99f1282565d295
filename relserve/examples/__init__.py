"""The shipped example tables: generated rows, so that every query can be tried without data of one's own."""

from pathlib import Path

_FOLDER = Path(__file__).parent
TABLES: dict[str, Path] = {
    name: _FOLDER / f"{name}.csv" for name in ("products", "reviews", "films", "beers", "tickets")
}
"""CSV file of each table by its name. An unquoted empty field is NULL, `""` is the empty string."""
MESSAGES = _FOLDER / "messages.csv"
"""400 messages of customers with what is true of each: a reader's own file, for documentation and benchmarks.

It is none of TABLES, for which the embedded models are trained: they meet it as they meet any file.
"""


def scan_of(name: str) -> str:
    """DuckDB's table function that reads a shipped table's file as it is meant."""
    return f"read_csv('{TABLES[name]}', header = true, nullstr = '', allow_quoted_nulls = false)"
