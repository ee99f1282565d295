"""The PostgreSQL-protocol server: DuckDB with LLM functions for BI tools."""
