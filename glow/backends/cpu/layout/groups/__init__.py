"""Convolutions in groups, in a form that has kernels: one a group, or of floats."""
