"""Kernels of label profiles and the ranker."""
