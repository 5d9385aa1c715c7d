"""Dialects of operations that x86 CPUs alone have, in the spelling of upstream."""
