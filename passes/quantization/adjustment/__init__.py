"""Networks of floats, changed so that they lose less once quantized."""
