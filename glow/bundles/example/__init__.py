"""The example that each bundle comes with: a program that runs a sample."""
