"""Handlers of ONNX's operators by theme: one function for each."""
