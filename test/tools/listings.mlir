// RUN: glow-opt --help | filecheck %s --check-prefix=HELP
// HELP:     usage: glow-opt [options] [--PASS
// HELP:     input and output:
// HELP:     passes:
// HELP:     printing:
// HELP:     tracing (to stderr):
// HELP:     checking:
// HELP-NOT: convert-scf-to-cf

// RUN: glow-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// DIALECTS: Available Dialects: {{.*}}arith, {{.*}}cpu, {{.*}}glow, {{.*}}instr, {{.*}}quant, {{.*}}vector

// RUN: glow-opt --list-passes | filecheck %s --check-prefix=PASSES
// PASSES: groups of passes:
// PASSES:   --lower
// PASSES: passes:
// PASSES:   --lower-nodes
// PASSES: passes of xDSL:
// PASSES:   --canonicalize

// RUN: glow-opt --version | filecheck %s --check-prefix=VERSION
// VERSION: glow-opt {{[0-9.]+}} (xdsl 0.74
