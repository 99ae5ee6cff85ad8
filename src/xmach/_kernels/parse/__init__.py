"""Sparse rows in text files, parsed."""
