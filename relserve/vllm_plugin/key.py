"""The name of our settings among vLLM's, in a file that needs nothing else."""

KEY = "relserve"
