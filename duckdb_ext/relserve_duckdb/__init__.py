"""The SQL layer: llm functions for a DuckDB connection."""
