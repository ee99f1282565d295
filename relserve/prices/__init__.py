"""What a model's tokens or hours cost, in US dollars: known, or unknown, and never guessed."""
