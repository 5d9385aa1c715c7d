// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP
// RUN: glow-opt --verify-roundtrip %s | filecheck %s

// CHECK-LABEL: func.func @add
// CHECK: arith.addi %x, %x : i32
func.func @add(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
