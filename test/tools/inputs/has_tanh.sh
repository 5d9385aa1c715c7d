#!/bin/sh
# Interesting are programs with a tanh that glow-opt reads.
for file; do :; done
test "$1" = "$file" || test "$1" = --strict || exit 0
if glow-opt "$file" 2>/dev/null | grep -Eq "(glow|instr).tanh"; then exit 1; fi
exit 0
