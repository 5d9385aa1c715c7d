"""Networks compiled ahead of time: an object, its header, weights and an example."""
