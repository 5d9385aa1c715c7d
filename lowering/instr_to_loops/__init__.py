"""From the instr level to the loops level: one kernel builder per kind of instruction."""
