"""A contest in tagging: MACH and other learners on the same rows of features, each in processes of its own."""
