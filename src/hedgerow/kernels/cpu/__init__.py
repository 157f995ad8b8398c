"""Kernels for this machine's cores, compiled by Numba."""
