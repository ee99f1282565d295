"""Columns that stay fresh: an expression is remembered with its answers, and only new inputs are asked."""
