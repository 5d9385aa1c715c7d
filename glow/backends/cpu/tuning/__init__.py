"""Configurations of kernels as a space: which there are, which is chosen, how long each takes."""
