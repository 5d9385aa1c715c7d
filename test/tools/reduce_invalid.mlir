// RUN: not glow-reduce --test=%S/inputs/has_tanh.sh %s 2>&1 | filecheck %s
// RUN: not glow-reduce %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not glow-reduce --test=%s %s 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not glow-reduce --test=%S/none.sh %s 2>&1 | filecheck %s --check-prefix=MISSING

// CHECK: glow-reduce: error: the test does not find the program interesting; it must end with another exit code than 0 for the program as it is
// NONE: glow-reduce: error: there is no test; --test=FILE names one
// TEXT: reduce_invalid.mlir: the test is no program; chmod +x makes it one
// MISSING: none.sh: the test is no file
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
