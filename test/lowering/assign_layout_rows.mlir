// RUN: glow-opt --lower-quantized='backend=cpu' --assign-layout='target=avx512' --fuse-epilogue --dce %s | filecheck %s

// The cast moves into the layer normalization, whose second result is what others read.
// CHECK-LABEL: func.func @both(
// CHECK-NEXT: %[[Q:.*]], %[[Y:.*]] = cpu.layer_norm %x, %s, %b axis 1 {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK: glow.yield %{{.*}}
// CHECK-NEXT: } : tensor<3x8xui8>, tensor<3x8xf32>
// CHECK: glow.add %x, %[[Y]] : tensor<3x8xf32>
func.func @both(%x: tensor<3x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<3x8xui8>, tensor<3x8xf32>) {
  %0 = glow.layer_norm %x, %s, %b axis 1 : tensor<3x8xf32>
  %1 = quant.qcast %0 : tensor<3x8xf32> to tensor<3x8x!quant.uniform<u8:f32, 0.5:3>>
  %2 = glow.scast %1 : tensor<3x8x!quant.uniform<u8:f32, 0.5:3>> to tensor<3x8xui8>
  %3 = glow.add %x, %0 : tensor<3x8xf32>
  func.return %2, %3 : tensor<3x8xui8>, tensor<3x8xf32>
}

// A division by channel comes first.
// CHECK-LABEL: func.func @migrated(
// CHECK: %{{.*}} = cpu.layer_norm %x, %s, %b, %{{.*}} axis 1 {
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32, %[[R:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[V]], %[[R]] : f32
// CHECK: } : tensor<3x2xui8>
func.func @migrated(%x: tensor<3x2xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<3x2xui8> {
  %r = glow.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %0 = glow.layer_norm %x, %s, %b axis 1 : tensor<3x2xf32>
  %1 = glow.mul %0, %r : tensor<3x2xf32>
  %2 = quant.qcast %1 : tensor<3x2xf32> to tensor<3x2x!quant.uniform<u8:f32, 0.5:3>>
  %3 = glow.scast %2 : tensor<3x2x!quant.uniform<u8:f32, 0.5:3>> to tensor<3x2xui8>
  func.return %3 : tensor<3x2xui8>
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %{{.*}} = cpu.softmax %x {
// CHECK: } : tensor<3x8xui8>
func.func @softmax(%x: tensor<3x8xf32>) -> tensor<3x8xui8> {
  %0 = glow.softmax %x axis 1 : tensor<3x8xf32>
  %1 = quant.qcast %0 : tensor<3x8xf32> to tensor<3x8x!quant.uniform<u8:f32, 0.004>>
  %2 = glow.scast %1 : tensor<3x8x!quant.uniform<u8:f32, 0.004>> to tensor<3x8xui8>
  func.return %2 : tensor<3x8xui8>
}

// Not along other axes, not where floats are read too, not without a cast.
// CHECK-LABEL: func.func @plain(
// CHECK: glow.softmax %x axis 0
// CHECK: glow.softmax %x axis 1
// CHECK: glow.layer_norm %x
func.func @plain(%x: tensor<3x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<3x8xui8>, tensor<3x8xui8>, tensor<3x8xf32>, tensor<3x8xf32>) {
  %0 = glow.softmax %x axis 0 : tensor<3x8xf32>
  %1 = quant.qcast %0 : tensor<3x8xf32> to tensor<3x8x!quant.uniform<u8:f32, 0.004>>
  %2 = glow.scast %1 : tensor<3x8x!quant.uniform<u8:f32, 0.004>> to tensor<3x8xui8>
  %3 = glow.softmax %x axis 1 : tensor<3x8xf32>
  %4 = quant.qcast %3 : tensor<3x8xf32> to tensor<3x8x!quant.uniform<u8:f32, 0.004>>
  %5 = glow.scast %4 : tensor<3x8x!quant.uniform<u8:f32, 0.004>> to tensor<3x8xui8>
  %6 = glow.layer_norm %x, %s, %b axis 1 : tensor<3x8xf32>
  func.return %2, %5, %3, %6 : tensor<3x8xui8>, tensor<3x8xui8>, tensor<3x8xf32>, tensor<3x8xf32>
}
