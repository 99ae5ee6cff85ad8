"""Training steps, forward passes and the clustering of labels."""
