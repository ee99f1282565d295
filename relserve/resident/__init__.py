"""The process of a resident engine: one model, served over a Unix socket to all processes of one user."""
