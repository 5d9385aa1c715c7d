// Errors and comments that do not match each other fail the test that holds them.
// RUN: not glow-opt --split-input-file --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK: verify_diagnostics_invalid.mlir:{{[0-9]+}}:{{[0-9]+}}: unexpected error: use of undefined value %z
// CHECK: verify_diagnostics_invalid.mlir:{{[0-9]+}}: expected error "something else" was not produced
// CHECK: verify_diagnostics_invalid.mlir:{{[0-9]+}}: expected error "use of" was not produced
// CHECK: glow-opt: error: 3 diagnostics differ from the comments
func.func @wrong_message(%x: i32) -> i32 {
  // expected-error @+1 {{something else}}
  %y = arith.addi %x, %z : i32
  func.return %y : i32
}

// -----

func.func @no_error(%x: i32) -> i32 {
  // expected-error @+1 {{use of}}
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
