// RUN: glow-opt --eliminate-empty-tensors %s | filecheck %s

// A fold of nothing is the number that it starts with.
// CHECK-LABEL: func.func @fold(
// CHECK-NEXT: %s = glow.splat 0.000000e+00 : tensor<2xf32>
// CHECK-NEXT: %m = glow.splat -128 : tensor<2xi8>
func.func @fold(%x: tensor<2x0xf32>, %i: tensor<2x0xi8>) -> (tensor<2xf32>, tensor<2xi8>) {
  %s = glow.reduce_sum %x axes [1] : tensor<2xf32>
  %m = glow.reduce_max %i axes [1] : tensor<2xi8>
  func.return %s, %m : tensor<2xf32>, tensor<2xi8>
}

// A result without elements needs no work.
// CHECK-LABEL: func.func @result(
// CHECK-NEXT: %y = glow.splat 0.000000e+00 : tensor<0x4xf32>
func.func @result(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %y = glow.relu %x : tensor<0x4xf32>
  func.return %y : tensor<0x4xf32>
}

// CHECK-LABEL: func.func @pieces(
// CHECK-NEXT: %c = glow.concat %x, %x axis 0 : tensor<4x3xf32>
func.func @pieces(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> tensor<4x3xf32> {
  %c = glow.concat %x, %e, %x axis 0 : tensor<4x3xf32>
  func.return %c : tensor<4x3xf32>
}

// Of quantized elements the stored number is filled in: 7 is 0.0, 12 is 0.5, -128 the mean of nothing.
// CHECK-LABEL: func.func @quantized(
// CHECK: glow.splat 7 : tensor<2x4xi8>
// CHECK-NEXT: quant.scast %{{.*}} : tensor<2x4xi8> to tensor<2x4x!quant.uniform<i8:f32
// CHECK: glow.splat 12 : tensor<2x2xi8>
// CHECK: glow.splat -128 : tensor<2xi8>
// CHECK: glow.splat 7 : tensor<0x8xi8>
func.func @quantized(%x: tensor<2x0xf32>, %w: tensor<0x4xf32>, %e: tensor<0x8xf32>) -> (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<0x8xf32>) {
  %q = quant.qcast %x : tensor<2x0xf32> to tensor<2x0x!quant.uniform<i8:f32, 0.1:7>>
  %v = quant.qcast %w : tensor<0x4xf32> to tensor<0x4x!quant.uniform<i8:f32, 0.02>>
  %n = quant.qcast %e : tensor<0x8xf32> to tensor<0x8x!quant.uniform<i8:f32, 0.1:7>>
  %0 = glow.matmul %q, %v : tensor<2x4x!quant.uniform<i8:f32, 0.1:7>>
  %1 = glow.pad %q pads [0, 1, 0, 1] mode "constant" value 0.5 : tensor<2x2x!quant.uniform<i8:f32, 0.1:7>>
  %2 = glow.reduce_mean %q axes [1] : tensor<2x!quant.uniform<i8:f32, 0.1:7>>
  %3 = glow.relu %n : tensor<0x8x!quant.uniform<i8:f32, 0.1:7>>
  %4 = quant.dcast %0 : tensor<2x4x!quant.uniform<i8:f32, 0.1:7>> to tensor<2x4xf32>
  %5 = quant.dcast %1 : tensor<2x2x!quant.uniform<i8:f32, 0.1:7>> to tensor<2x2xf32>
  %6 = quant.dcast %2 : tensor<2x!quant.uniform<i8:f32, 0.1:7>> to tensor<2xf32>
  %7 = quant.dcast %3 : tensor<0x8x!quant.uniform<i8:f32, 0.1:7>> to tensor<0x8xf32>
  func.return %4, %5, %6, %7 : tensor<2x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<0x8xf32>
}
