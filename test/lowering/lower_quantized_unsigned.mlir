// RUN: glow-opt --lower-quantized='keep-products=true' %s | filecheck %s

// Signed activations become unsigned: kernels multiply unsigned bytes with signed weights.
// CHECK-LABEL: func.func @signed(
// CHECK:      glow.clip %{{.*}} low -1.310000e+02 high 1.240000e+02
// CHECK:      glow.convert %{{.*}} : tensor<2x4xui8>
// CHECK:      %[[P:.*]] = glow.constant dense<131> : tensor<ui8>
// CHECK:      glow.matmul_integer %{{.*}}, %{{.*}}, %[[P]], %{{.*}} : tensor<2x1xi32>
func.func @signed(%x: tensor<2x4xf32>) -> tensor<2x1xf32> {
  %w = glow.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi8> as tensor<4x1x!quant.uniform<i8:f32, 0.5>>
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32, 0.25:3>>
  %1 = glow.matmul %0, %w : tensor<2x1xf32>
  func.return %1 : tensor<2x1xf32>
}

// What a function takes or gives stays, and what moves from there.
// CHECK-LABEL: func.func @seen(
// CHECK-NEXT: %0 = quant.scast %x : {{.*}} to tensor<2x2xi8>
// CHECK-NEXT: %1 = glow.reshape %0 : tensor<4xi8>
// CHECK-NEXT: func.return %1
func.func @seen(%x: tensor<2x2x!quant.uniform<i8:f32, 0.25:3>>) -> tensor<4xi8> {
  %0 = glow.reshape %x : tensor<4x!quant.uniform<i8:f32, 0.25:3>>
  %1 = quant.scast %0 : tensor<4x!quant.uniform<i8:f32, 0.25:3>> to tensor<4xi8>
  func.return %1 : tensor<4xi8>
}

// What a ReLU made is not negative: its bytes stay as they are, and zero still pads.
// CHECK-LABEL: func.func @positive(
// CHECK: glow.relu
// CHECK: glow.clip %{{.*}} low 0.000000e+00 high 1.270000e+02
// CHECK: glow.convert %{{.*}} : tensor<4xui8>
func.func @positive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5>>
  %1 = glow.relu %0 : tensor<4x!quant.uniform<i8:f32, 0.25>>
  %2 = quant.dcast %1 : tensor<4x!quant.uniform<i8:f32, 0.25>> to tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
