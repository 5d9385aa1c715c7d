"""Bundles for Cortex-M4 beside TensorFlow Lite Micro."""
