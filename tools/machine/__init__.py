"""Commands that measure this machine."""
