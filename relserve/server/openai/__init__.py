"""OpenAI's API before the engine that answers SQL: keys and quotas here, everything else is vLLM's own."""
