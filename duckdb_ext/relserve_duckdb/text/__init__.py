"""What an SQL text tells about its llm calls."""
