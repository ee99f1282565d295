"""How many tokens a step computes so that limits on first and on further tokens are kept (LENS), and ours."""
