"""Who may do what on a server: its users, their models and tokens, and what no statement of theirs may do."""
