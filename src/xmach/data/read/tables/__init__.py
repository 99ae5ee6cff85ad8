"""Readers of tables: CSV, TSV, JSON lines and Parquet, with columns of text or numbers, labels and weights."""
