"""The one place where generated SQL runs: what it may say, and how much it may take."""
