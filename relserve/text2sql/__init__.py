"""Questions become SQL: an agentic pipeline over an engine."""
