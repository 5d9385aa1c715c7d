"""How good the choices of kernels are: their regret, and what a simulator says of other cores."""
