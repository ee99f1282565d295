"""OpenAI's files and batches: rows of lowest urgency, on the engine that answers everybody."""
