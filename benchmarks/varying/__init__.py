"""Calls that differ: in the sizes of inputs, and in how much is found in them."""
