"""A model on this machine, run by vLLM in a process of its own."""
