"""Products of 16-bit floats."""
