"""The functions in DuckDB's catalog, the statement that they answer, and how they answer it."""
