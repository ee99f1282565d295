"""Kernels of the hidden cache: pages hold the layer's input X in place of its keys and values.

`pages` says where the rows of X lie, `store` writes them, `absorbed` attends over them. Each has a plain
reference (`reference`), a path of its own for CPUs (`cpu`) and Triton kernels (`gpu`); `dispatch` chooses one
by the device. Import the modules: torch is loaded with them, Triton only where used.
"""
