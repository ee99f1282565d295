"""What was told: the verdicts, the differences that are meant to be, and the llm checks."""
