"""Offsets for buffers that are alive at some times, in as few bytes as may be."""
