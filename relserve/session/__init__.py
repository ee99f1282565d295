"""One relQuery or statement on an engine: folding, kept answers, order, estimates, records and notices."""
