"""`relserve shell`: statements and dot commands, typed at a prompt or read from a script."""
