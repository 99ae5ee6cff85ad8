"""Numba kernels: small plain functions of arrays. Each has a slow NumPy twin beside it that judges it in the tests."""
