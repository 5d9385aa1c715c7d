// RUN: glow-opt --absorb-relus %s | filecheck %s

// The result's range goes below 0.
// CHECK-LABEL: func.func @signed_range(
// CHECK-NEXT: %[[R:.*]] = glow.relu %x
// CHECK-NEXT: %{{.*}} = glow.rescale %[[R]]
func.func @signed_range(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:3>> {
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.5:8>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.25:3>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25:3>>
}

// The ReLU rounds to steps of its own.
// CHECK-LABEL: func.func @other_steps(
// CHECK-NEXT: %[[R:.*]] = glow.relu %x
// CHECK-NEXT: %{{.*}} = glow.rescale %[[R]]
func.func @other_steps(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.75:8>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// A factor may be negative.
// CHECK-LABEL: func.func @factor(
// CHECK: %[[R:.*]] = glow.relu %x
// CHECK: %{{.*}} = glow.rescale %[[R]]
func.func @factor(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %m = glow.constant dense<-1.0> : tensor<4xf32>
  %a = glow.constant dense<20.0> : tensor<4xf32>
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.5:8>>
  %1 = glow.rescale %0, %m, %a : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}
