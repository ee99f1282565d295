"""What a DuckDB database holds, as a schema that questions are asked of."""
