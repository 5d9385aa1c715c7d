"""Choices that were measured: records of kernels, and the search for better ones."""
