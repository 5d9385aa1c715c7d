"""What `canonicalize` concludes about nodes, one file a theme; `canonicalization.py` lists it."""
