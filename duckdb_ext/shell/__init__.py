"""DuckDB's extension in C, for the stock `duckdb` command and other hosts of DuckDB."""
