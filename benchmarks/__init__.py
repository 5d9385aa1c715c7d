"""Networks to measure with, and the measurements. Not part of the installed package."""
