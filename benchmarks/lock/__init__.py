"""The parts of `server_lock`: texts that are made up, what the lock says of them, and what DuckDB does."""
