"""What `glow-opt` is made of."""
