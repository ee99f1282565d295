"""What runs instead of a statement whose LIMIT needs no answer: its llm calls come after the LIMIT."""
