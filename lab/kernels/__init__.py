"""Checks of the Triton kernels, compiled ahead and against bytes and FLOPs; and Apt-Serve's way to attend."""
