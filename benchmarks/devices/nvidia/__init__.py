"""Our CUDA backend on an NVIDIA GPU beside its peers."""
