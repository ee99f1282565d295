"""Several unequal engines in virtual time behind owners that see late what they report; they may fail."""
