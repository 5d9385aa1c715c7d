// Verification runs on the input and on the result, with --verify-each in between too.
// RUN: not glow-opt %s 2>&1 | filecheck %s
// RUN: glow-opt --disable-verify %s | filecheck %s --check-prefix=DISABLED

// CHECK:     verify_each.mlir:9:3: error: 'func.return': Expected arguments to have the same types as the function output types
// CHECK-NOT: func.func
// DISABLED:  func.return %x : i32
func.func @result(%x: i32) -> i64 {
  func.return %x : i32
}
