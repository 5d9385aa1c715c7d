"""What choices of kernels are worth: their regret, and what tuning gains."""
