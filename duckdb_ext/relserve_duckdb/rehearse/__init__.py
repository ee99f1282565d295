"""Learning what a statement will ask by running its SELECT with calls that only note inputs; asking it."""
