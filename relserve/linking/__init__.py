"""What a question and a schema have in common, in code."""
