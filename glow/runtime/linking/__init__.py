"""From objects to code that can be called."""
