"""Loops that are recurrent layers: what a loop computes, as expressions, and the cells."""
