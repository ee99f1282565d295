"""Which prompts answer the pairs of a join, and when their answers agree enough with asking each pair."""
