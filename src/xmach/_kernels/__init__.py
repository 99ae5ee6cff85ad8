"""Numba kernels: small plain functions of arrays. The tests compare each with a slow NumPy twin (tests/reference)."""
