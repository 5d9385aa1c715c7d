"""How many threads work, and the pool of them."""
