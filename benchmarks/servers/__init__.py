"""Servers of the inference protocol, and the load that clients make."""
