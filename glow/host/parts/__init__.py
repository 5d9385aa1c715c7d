"""The parts of a divided network: where they are, what waits, what is in flight."""
