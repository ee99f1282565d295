"""`relserve serve`: one DuckDB database for many clients, over PostgreSQL's protocol."""
