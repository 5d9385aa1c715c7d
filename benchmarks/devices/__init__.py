"""Benchmarks of backends for devices other than the CPU."""
