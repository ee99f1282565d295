"""What an llm call is: its template, options, answer type and inputs, and how values read in a prompt."""
