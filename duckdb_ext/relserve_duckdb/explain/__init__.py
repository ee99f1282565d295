"""EXPLAIN for llm calls: what a statement would ask, without asking."""
