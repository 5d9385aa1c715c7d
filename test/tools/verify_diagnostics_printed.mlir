// Without comments the errors are printed, and the exit code is 0.
// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

// CHECK: verify_diagnostics_printed.mlir:7:3: error: 'func.return': Expected arguments to have the same types
// CHECK: func.func @valid
func.func @result(%x: i32) -> i64 {
  func.return %x : i32
}
// -----
func.func @valid() {
  func.return
}
