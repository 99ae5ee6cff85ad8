"""Datasets, tables and predictions to files."""
