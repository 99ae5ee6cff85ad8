"""Labels: their names, their counts, and the forms users give them in."""
