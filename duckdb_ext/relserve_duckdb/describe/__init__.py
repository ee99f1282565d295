"""What a statement gives and takes, from DuckDB's bind: its columns and the types of its parameters."""
