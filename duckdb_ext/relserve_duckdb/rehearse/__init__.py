"""Learning what a statement will ask by running it with noted inputs, and asking it."""
