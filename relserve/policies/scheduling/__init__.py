"""Which relQuery runs next, and what a step computes."""
