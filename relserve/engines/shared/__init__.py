"""The client of a resident engine: a process that serves one model to all processes of one user."""
