"""Grammars that hold a model to SELECT statements over names that exist."""
