"""Single requests with limits on first and further tokens, on an engine whose steps a budget policy cuts."""
