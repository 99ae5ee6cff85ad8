"""Data files to datasets: one reader per format."""
