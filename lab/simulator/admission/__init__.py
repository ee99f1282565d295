"""One engine in virtual time whose requests share one speed, and an admission in front of it."""
