"""What `relserve models check` finds out about a model: its files, its engine, and what it truly answers."""
