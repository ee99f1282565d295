"""Texts that ask PostgreSQL's catalog, put into DuckDB's words."""
