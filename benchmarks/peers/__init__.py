"""The other runtimes, each in a process of its own."""
