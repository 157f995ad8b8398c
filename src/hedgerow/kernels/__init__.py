"""Compiled kernels, one file for each stage of the data."""
