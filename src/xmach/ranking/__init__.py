"""A second look at the shortlist: label profiles, a linear ranker, and their fusion with MACH's score."""
