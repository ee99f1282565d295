"""What the fuzz tests are made of: literals, statements, mutated texts, and the world that runs them."""
