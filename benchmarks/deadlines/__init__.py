"""Workflows with deadlines on a real engine: what arrives, and what became of it."""
