// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @add
// CHECK: arith.addi %x, %x : i32
func.func @add(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
