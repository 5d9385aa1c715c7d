"""From casts around nodes of floats to nodes on integers."""
