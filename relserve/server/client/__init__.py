"""One client: its socket, its start, its statements and their results."""
