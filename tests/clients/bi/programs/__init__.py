"""One small program a client, named after it: it runs named checks and prints one JSON line a check."""
