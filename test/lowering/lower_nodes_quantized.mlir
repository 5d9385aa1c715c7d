// RUN: glow-opt --lower-nodes='backend=none' %s | filecheck %s
// RUN: glow-opt --lower-nodes %s | filecheck %s

// Primitives of numbers do not round to a scale: nodes on quantized elements stay for
// lower-quantized.
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.75:7>

// CHECK-LABEL: @nodes
// CHECK: glow.fully_connected %x, %w activation "relu"
// CHECK-NEXT: glow.clip
// CHECK-NEXT: glow.pad
// CHECK-NEXT: glow.reduce_mean
func.func @nodes(%x: tensor<2x2x!x>, %w: tensor<2x2x!w>) -> tensor<4x!x> {
  %0 = glow.fully_connected %x, %w activation "relu" : tensor<2x2x!y>
  %1 = glow.clip %0 low 0.5 high 3.0 : tensor<2x2x!y>
  %2 = glow.pad %1 pads [1, 0, 1, 0] value 1.5 : tensor<4x2x!y>
  %3 = glow.reduce_mean %2 axes [1] : tensor<4x!x>
  func.return %3 : tensor<4x!x>
}
