"""Bundles for Arm's microcontrollers beside CMSIS-NN."""
