"""Which requests hold memory, as keys and values or as hidden states, and what a step computes."""
