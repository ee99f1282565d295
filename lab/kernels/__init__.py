"""Checks of the Triton kernels, compiled ahead and against bytes; one that reads X once; Apt-Serve's."""
