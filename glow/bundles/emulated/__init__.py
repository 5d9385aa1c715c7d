"""What the emulator of bundles knows of CPUs and of compilers' runtimes."""
