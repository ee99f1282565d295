"""What was told: the verdict on a client's answers, the differences that are meant to be, and the llm checks."""
