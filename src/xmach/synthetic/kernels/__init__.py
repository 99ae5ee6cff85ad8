"""The kernels of the synthetic shop."""
