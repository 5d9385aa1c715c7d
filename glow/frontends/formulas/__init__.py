"""What functions are made of, for all frontends."""
