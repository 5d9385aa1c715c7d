// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @state(
// CHECK-NEXT: %w = glow.variable @fc1.weight initial @fc1.weight : tensor<4xf32>
// CHECK-NEXT: %m = glow.variable @"fc1/weight" : tensor<4xf32>
// CHECK-NEXT: %n = glow.variable @step initial dense<3> : tensor<1xi64>
// CHECK-NEXT: %h = glow.variable @half {mark} : tensor<4xf16>
// CHECK-NEXT: glow.save %m, @fc1.weight
// CHECK-NEXT: glow.save %w, @"fc1/weight" {mark}
func.func @state() -> tensor<4xf16> {
  %w = glow.variable @fc1.weight initial @fc1.weight : tensor<4xf32>
  %m = glow.variable @"fc1/weight" : tensor<4xf32>
  %n = glow.variable @step initial dense<3> : tensor<1xi64>
  %h = glow.variable @half {mark} : tensor<4xf16>
  glow.save %m, @fc1.weight
  glow.save %w, @"fc1/weight" {mark}
  func.return %h : tensor<4xf16>
}
