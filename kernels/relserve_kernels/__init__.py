"""Triton kernels of the hybrid KV / hidden cache (issue: hybrid cache); empty until that lands."""
