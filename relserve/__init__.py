"""relserve: LLM functions in SQL, scheduled as relQueries."""
