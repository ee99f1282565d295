"""The functions in DuckDB's catalog, and what they share."""
