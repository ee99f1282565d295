"""The program behind `python -m benchmarks.duckdb_tests`: DuckDB's own tests, in plain DuckDB and in ours."""
