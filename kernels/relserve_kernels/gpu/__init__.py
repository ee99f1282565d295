"""Triton kernels over X in pages, compiled ahead as a check, and what bytes and FLOPs allow on a GPU."""
