"""Step budgets inside vLLM: how many tokens the next step computes so that requests keep their limits."""
