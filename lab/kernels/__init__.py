"""The Triton kernels compiled ahead as a check, and what bytes and FLOPs allow on a GPU."""
