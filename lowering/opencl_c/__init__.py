"""From the loops level to OpenCL C: one table of rules from operation to text.

A kernel f(buffers..., lo, hi) computes work items [lo, hi) that do not depend on each other, so
its entry lets item i of the device run f(buffers..., i, i + 1): every kernel is device code.
"""
