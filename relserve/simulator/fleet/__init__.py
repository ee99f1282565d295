"""Several unequal engines in virtual time behind a desk that sees late what they report; they may fail."""
