"""From bucket probabilities to the top k labels."""
