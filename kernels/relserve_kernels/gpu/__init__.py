"""Triton kernels over X in pages."""
